//! Snapshots as one file, which another host takes: see `docs/formats/snapshot-file.md`.

mod error;
mod export;
mod import;
mod left_out;
mod options;
mod record;
mod sparse_file;
mod staged;
#[cfg(test)]
mod tests;

pub use error::{ExportError, ImportError};
pub use export::SnapshotExport;
pub use import::{Imported, SnapshotImport};
