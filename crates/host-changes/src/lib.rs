//! Changes of a sandbox, put into a directory of the host.
//!
//! A [`HostChanges`] is planned first: each change is compared with the host's file, and nothing is
//! written if one of them conflicts. Then each file is written under another name, synced and
//! renamed, so that a process that is killed leaves each file old or new, and the next plan has the
//! rest. With [`ApplyRecords`], the steps are written down before the first of them, and the next process does those that
//! are left. A file that an editor writes at the same time is put back, and named by [`ApplyError::Left`].
//!
//! ```
//! use std::sync::Arc;
//!
//! use fstree::{Metadata, Tree, TreeBuilder};
//! use msb_host_changes::{ApplyOptions, HostChanges};
//! use tree_diff::{Compared, InMemory, Scope, Unrelated, compare};
//!
//! let mut files = TreeBuilder::new(Metadata::directory(0o755));
//! files.file("notes", Metadata::with_mode(0o644), b"made in a sandbox".to_vec())?;
//! let old = InMemory(Tree::new(Metadata::directory(0o755)));
//! let new = InMemory(files.finish());
//! let changes = compare(&old, &new, &Unrelated, &Scope::everything())?;
//! let compared = Arc::new(Compared { old, new, changes });
//!
//! let directory = tempfile::tempdir()?;
//! let planned = HostChanges::plan(compared, directory.path(), ApplyOptions::default())?;
//! assert!(planned.conflicts().is_empty());
//! HostChanges::run_all(&mut [planned]).map_err(|(_, error)| error)?;
//! assert_eq!(std::fs::read(directory.path().join("notes"))?, b"made in a sandbox");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The sandbox's tree may be hostile: no symlink below the directory is followed, no path leaves it, and
//! files that make programs of the host run commands are [`Marked`] and need a yes.

#![forbid(unsafe_code)]

mod attributes;
mod check;
mod choice;
mod comparison;
mod conflict;
mod directory_identity;
mod error;
mod finding;
mod finish;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod gate;
mod hex_bytes;
mod host_changes;
mod host_directory;
mod host_file;
mod marked;
mod options;
mod path;
mod pending;
mod plan;
mod record;
mod step;
mod syncing;
#[cfg(test)]
mod tests;
mod unfinished;
mod unfinished_name;
mod write;

pub use choice::Choice;
pub use conflict::{Conflict, ConflictReason};
pub use error::{ApplyError, LeftFile};
pub use gate::Refused;
pub use host_changes::HostChanges;
pub use marked::{Effect, Marked};
pub use options::{ApplyOptions, StagedRules};
pub use record::{ApplyRecordError, ApplyRecords, WaitingApply};
pub use step::{HostAction, Step};

/// A side whose files are put into a directory of the host.
pub trait HostSource: tree_diff::Side<Error: Send + Sync> {}

impl<S: tree_diff::Side<Error: Send + Sync>> HostSource for S {}
