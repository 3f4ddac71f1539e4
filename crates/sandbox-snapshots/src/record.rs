use std::io;
use std::path::PathBuf;

use fs_err as fs;
use generations::State;
use msb_runtime::SandboxPaths;
use serde::{Deserialize, Serialize};

use super::{SnapshotConsistency, SnapshotError, SnapshotName};

/// The end of a record's file name.
const SUFFIX: &str = ".json";

/// A snapshot of a sandbox's writable disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The name, unique in the sandbox.
    pub name: SnapshotName,
    /// The number: each snapshot of a sandbox has a higher one than all before it, also if those were
    /// removed.
    pub number: u64,
    /// Time of creation, in seconds since the epoch.
    pub created_s: u64,
    /// The user's note.
    pub message: Option<String>,
    /// True if a rollback or a command made the snapshot, of the disk as it was before.
    pub is_automatic: bool,
    /// The number of the command that the snapshot was taken before; `None` if it was not taken for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<u64>,
    /// True if a rollback to a command's snapshot made it, as an undo does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_undo: bool,
    /// The state of the filesystem at the moment of the snapshot.
    pub consistency: SnapshotConsistency,
    /// Size of the disk, in bytes.
    pub size_bytes: u64,
    /// The image of the sandbox, by the digest of its manifest: the disk has changes to it alone.
    pub image_digest: String,
    /// The state of the disk, as a sealed text: see `docs/formats/generations.md`.
    pub(super) state: String,
}

impl Snapshot {
    /// Returns the snapshot with another list of generations.
    pub(super) fn with_state(self, state: &State) -> Self {
        Self {
            state: hex::encode(state.to_bytes()),
            ..self
        }
    }

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

/// The records of a sandbox's snapshots: a sealed file for each, whose name is the snapshot's.
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
        self.directory.join(format!("{name}{SUFFIX}"))
    }

    /// Returns the names of all snapshots, those with damaged records too, in bytewise order.
    pub(super) fn names(&self) -> io::Result<Vec<SnapshotName>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            let file = entry?.file_name();
            // A file that is not finished has another name.
            let stem = file.to_str().and_then(|file| file.strip_suffix(SUFFIX));
            names.extend(stem.and_then(|stem| stem.parse::<SnapshotName>().ok()));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns all snapshots: first those whose records cannot be read, then the others, the oldest
    /// first.
    pub(super) fn each(&self) -> io::Result<Vec<Result<Snapshot, SnapshotError>>> {
        let names = self.names()?;
        let mut each: Vec<_> = names.iter().map(|name| self.read(name)).collect();
        each.sort_by_key(|read| read.as_ref().map_or(0, |snapshot| snapshot.number));
        Ok(each)
    }

    /// Returns all snapshots with their states, the oldest first.
    pub(super) fn states(&self) -> Result<Vec<(Snapshot, State)>, SnapshotError> {
        let each = self.each()?.into_iter().map(|read| {
            let snapshot = read?;
            let state = snapshot.state(self.path(&snapshot.name))?;
            Ok((snapshot, state))
        });
        each.collect()
    }

    /// Returns the newest snapshot with this state; `None` if no record that can be read has it.
    pub(super) fn find(&self, state: &State) -> io::Result<Option<Snapshot>> {
        let state = hex::encode(state.to_bytes());
        let mut readable = self.each()?.into_iter().rev().filter_map(Result::ok);
        Ok(readable.find(|snapshot| snapshot.state == state))
    }

    /// Reads a record, which must have the name of its file.
    pub(super) fn read(&self, name: &SnapshotName) -> Result<Snapshot, SnapshotError> {
        let path = self.path(name);
        let bytes = fs::read(&path)?;
        let damaged = |reason: String| SnapshotError::Damaged { path, reason };
        let read: Snapshot = match sealed_records::open(&bytes) {
            Ok(read) => read,
            Err(error) => return Err(damaged(error.to_string())),
        };
        if read.name != *name {
            return Err(damaged(format!(
                "it is the record of snapshot {}",
                read.name
            )));
        }
        Ok(read)
    }

    /// Writes a record, durably, in the place of an older one.
    pub(super) fn add(&self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        durable_files::ensure_directory(&self.directory)?;
        // A file is made in the directory once that is durable.
        let is_empty = fs::read_dir(&self.directory)?.next().is_none();
        if is_empty && let Some(parent) = self.directory.parent() {
            durable_files::sync_directory(parent)?;
        }
        let record = sealed_records::seal(snapshot)?;
        Ok(durable_files::publish_bytes(
            &self.path(&snapshot.name),
            &record,
        )?)
    }

    /// Removes a record, durably.
    pub(super) fn remove(&self, name: &SnapshotName) -> Result<(), SnapshotError> {
        self.remove_all([name])
    }

    /// Removes records, durably. After an error the first ones may be removed.
    pub(super) fn remove_all<'a>(
        &self,
        names: impl IntoIterator<Item = &'a SnapshotName>,
    ) -> Result<(), SnapshotError> {
        let mut removed = Ok(());
        for name in names {
            removed = fs::remove_file(self.path(name));
            if removed.is_err() {
                break;
            }
        }
        durable_files::sync_directory(&self.directory)?;
        Ok(removed?)
    }
}
