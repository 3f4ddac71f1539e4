//! Two filesystem trees compared by meaning.
//!
//! [`compare`] takes two [`Side`]s, each a tree with access to the content of its files, and returns
//! the names that stand for different files: added, changed and deleted. A [`Relation`] tells what
//! is known to be equal, so that files which both sides share are not read. A [`Patcher`]
//! formats changes as `git diff` does, and a [`LayerPlan`] writes them as a layer of an OCI image.
//!
//! ```
//! use fstree::{Metadata, TreeBuilder};
//! use tree_diff::{InMemory, Scope, Unrelated, compare};
//!
//! let file = |builder: &mut TreeBuilder<Vec<u8>>, path: &str, text: &str| {
//!     builder.file(path, Metadata::with_mode(0o644), text.into()).map(drop)
//! };
//! let (mut old, mut new) = (
//!     TreeBuilder::new(Metadata::directory(0o755)),
//!     TreeBuilder::new(Metadata::directory(0o755)),
//! );
//! file(&mut old, "etc/motd", "hello\n")?;
//! file(&mut new, "etc/motd", "hello, world\n")?;
//! file(&mut new, "etc/issue", "msb\n")?;
//! let (old, new) = (InMemory(old.finish()), InMemory(new.finish()));
//!
//! let changes = compare(&old, &new, &Unrelated, &Scope::everything())?;
//! let lines: Vec<String> = changes.iter().map(ToString::to_string).collect();
//! assert_eq!(lines, ["A /etc/issue", "C /etc/motd"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Both trees may be hostile: the result is bounded to 256 MiB, a patch to a few times
//! [`TEXT_MAX_BYTES`], the search for common lines to a minute, and content is compared only if both
//! files have the same size.

#![forbid(unsafe_code)]

mod budget;
mod change;
mod compare;
mod compared;
mod content;
mod error;
mod filter;
mod in_memory;
mod inode;
mod layer;
mod leave_out;
mod links;
mod moves;
mod patch;
mod scope;
mod side;

pub use change::{Change, ChangeKind, Differences};
pub use compare::compare;
pub use compared::Compared;
pub use error::{CompareError, InvalidScope};
pub use filter::{InvalidPattern, PathFilter};
pub use in_memory::InMemory;
pub use layer::{LayerError, LayerNote, LayerNoteReason, LayerOptions, LayerPlan, WrittenLayer};
pub use leave_out::leave_out;
pub use patch::{
    Lines, Overlap, Patch, Patcher, Quoting, TEXT_MAX_BYTES, TextChange, is_text, quoted,
};
pub use scope::Scope;
pub use side::{Relation, Side, Unrelated};
