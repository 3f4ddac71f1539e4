//! The commands, options and values of Docker and Podman that msb does not have, and its answer to each.
//!
//! Refused words are not part of the command line's grammar. They are looked up when the grammar does
//! not know a word, so neither help nor completion offers them. [`needless`] options change nothing in
//! msb, and are accepted.
//!
//! ```
//! use docker_words::{commands, options};
//!
//! let answer = commands::answer("image", &["build", "."]);
//! assert!(answer.is_some_and(|answer| answer.contains("msb load")));
//! let answer = options::answer("run", "--gpus");
//! assert!(answer.is_some_and(|answer| answer.starts_with("msb run does not support --gpus: ")));
//! ```
//!
//! `docs/docker.md` lists all of them; a test compares it with the tables.

#![forbid(unsafe_code)]

pub mod commands;
pub mod guesses;
pub mod needless;
pub mod options;
pub mod values;

#[cfg(test)]
mod tests;
