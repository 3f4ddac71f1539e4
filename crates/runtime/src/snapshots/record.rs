use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use generations::State;
use serde::{Deserialize, Serialize};

use super::{SnapshotError, SnapshotName};
use crate::sandbox::SandboxPaths;

/// A snapshot of a sandbox's writable disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The name, unique in the sandbox.
    pub name: SnapshotName,
    /// The number: each snapshot of a sandbox has a higher one than all that exist.
    pub number: u64,
    /// Time of creation, in seconds since the epoch.
    pub created_s: u64,
    /// The user's note.
    #[serde(default)]
    pub message: Option<String>,
    /// True if a rollback made the snapshot, of the disk as it was before.
    #[serde(default)]
    pub is_automatic: bool,
    /// Size of the disk, in bytes.
    pub size_bytes: u64,
    /// The image of the sandbox, by the digest of its manifest: the disk has changes to it alone.
    pub image_digest: String,
    /// The state of the disk, as a sealed text: see `docs/formats/generations.md`.
    pub(super) state: String,
}

impl Snapshot {
    /// Returns the state of the disk.
    pub(super) fn state(&self, path: PathBuf) -> Result<State, SnapshotError> {
        let damaged = |reason: String| SnapshotError::Damaged {
            path: path.clone(),
            reason,
        };
        let bytes = hex::decode(&self.state).map_err(|error| damaged(error.to_string()))?;
        State::from_bytes(&bytes).map_err(|fault| damaged(fault.to_string()))
    }
}

/// The records of a sandbox's snapshots: a file for each, whose name is the snapshot's.
#[derive(Debug)]
pub(super) struct Records {
    directory: PathBuf,
}

impl Records {
    pub(super) fn new(files: &SandboxPaths) -> Self {
        Self {
            directory: files.snapshots(),
        }
    }

    pub(super) fn path(&self, name: &SnapshotName) -> PathBuf {
        self.directory.join(format!("{name}.json"))
    }

    /// Returns all snapshots, the oldest first.
    pub(super) fn all(&self) -> Result<Vec<Snapshot>, SnapshotError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut all = Vec::new();
        for entry in entries {
            let path = entry?.path();
            // A file that is not finished has another name.
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                all.push(read(&path)?);
            }
        }
        all.sort_by_key(|snapshot| snapshot.number);
        Ok(all)
    }

    /// Writes a new record, durably.
    pub(super) fn add(&self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        durable_files::ensure_directory(&self.directory)?;
        if let Some(parent) = self.directory.parent() {
            durable_files::sync_directory(parent)?;
        }
        let mut json = serde_json::to_vec_pretty(snapshot).map_err(io::Error::from)?;
        json.push(b'\n');
        Ok(durable_files::publish_bytes(
            &self.path(&snapshot.name),
            &json,
        )?)
    }

    /// Removes a record, durably.
    pub(super) fn remove(&self, name: &SnapshotName) -> Result<(), SnapshotError> {
        fs::remove_file(self.path(name))?;
        Ok(durable_files::sync_directory(&self.directory)?)
    }
}

/// Reads a record, which must have the name of its file.
fn read(path: &Path) -> Result<Snapshot, SnapshotError> {
    let damaged = |reason: String| SnapshotError::Damaged {
        path: path.to_owned(),
        reason,
    };
    let json = fs::read(path)?;
    let read: Snapshot =
        serde_json::from_slice(&json).map_err(|error| damaged(error.to_string()))?;
    let is_named = path
        .file_stem()
        .is_some_and(|stem| stem == read.name.as_str());
    if !is_named {
        return Err(damaged(format!(
            "it is the record of snapshot {}",
            read.name
        )));
    }
    Ok(read)
}
