//! Runs the guides of `docs/guide` as their readers would: every command in a shell, every output
//! compared with the one that the guide shows.
//!
//! ```
//! use guides::Guide;
//!
//! let guide = Guide::parse("```console\n$ echo 42\n42\n```\n")?;
//! assert_eq!(guide.steps.len(), 1);
//! # Ok::<(), guides::ParseError>(())
//! ```
//!
//! The form of a guide is described in `tests/guides/README.md`. A test library such as `trycmd` is
//! no substitute: it starts each command without a shell, and guides pipe, redirect and set
//! variables.

mod environment;
mod guide;
mod npm;
mod pattern;
mod run;
mod shell;

pub use environment::Environment;
pub use guide::{Guide, ParseError, Step};
pub use run::run;

/// The Rust code of `docs/guide/library.md`, compiled and run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/library.md")]
struct LibraryGuide;
