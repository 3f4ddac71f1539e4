//! Snapshots of sandboxes, and new sandboxes that begin with the disk of another one.
//!
//! The disk of a sandbox is a list of generations, and a cut begins another one, without a copy. A snapshot
//! is a record that names the generations of one moment; it is written after they are durable, and
//! removed before they are. The disk of a running sandbox is cut by the process that serves it.

mod archive;
mod command;
mod consistency;
mod digests;
mod error;
mod forks;
mod layer;
mod live;
mod merge;
mod name;
mod open_state;
mod origin;
mod record;
mod remove;
mod rewrite;
mod roll_back;
mod staging;
#[cfg(test)]
mod tests;
mod verify;

use std::ops::Deref;

use durable_files::now_s;
use generations::State;
use msb_runtime::{ChangeLock, Lock, Sandbox, UpperPool};

pub use archive::{ExportError, ImportError, Imported, SnapshotExport, SnapshotImport};
pub use command::StateBeforeCommand;
pub use consistency::SnapshotConsistency;
pub use error::SnapshotError;
pub use forks::Forked;
pub use layer::StagedLayer;
pub use name::{InvalidSnapshotName, SnapshotName};
pub use open_state::OpenState;
pub use origin::Origin;
use record::Records;
pub use record::Snapshot;
pub use rewrite::StagedDisk;
pub use roll_back::{RollBackRunning, RolledBack};
pub use verify::{SnapshotContent, VerifiedSnapshot};

/// The most generations of a disk. Each is an open file of its machine's process, and many hosts permit
/// 1,024 of them.
const GENERATIONS_MAX: usize = 500;
/// The number of generations from which on those that no snapshot needs apart are merged in the background.
const MANY_GENERATIONS: usize = 64;

/// The name and the message of a snapshot to be taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotDraft {
    /// The name; its number if `None`.
    pub name: Option<SnapshotName>,
    /// The user's note.
    pub message: Option<String>,
}

/// A sandbox with the operations on its snapshots, and on the generations of its disk.
#[derive(Debug, Clone)]
pub struct SandboxSnapshots {
    sandbox: Sandbox,
}

impl Deref for SandboxSnapshots {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl SandboxSnapshots {
    /// Returns the snapshots of a sandbox; nothing is read or made.
    pub const fn new(sandbox: Sandbox) -> Self {
        Self { sandbox }
    }

    /// Takes a snapshot of the stopped sandbox's disk.
    ///
    /// It copies nothing. A process that is killed, and a power cut, leave the snapshot or none.
    ///
    /// # Errors
    /// If the sandbox runs, has a snapshot of this name, or its disk or the record cannot be written.
    pub fn create_snapshot(&self, draft: SnapshotDraft) -> Result<Snapshot, SnapshotError> {
        let (sandbox, _lock) = self.claim_stopped()?;
        sandbox.new_label(draft.name.clone(), 0)?;
        let pool = UpperPool::adopt(&sandbox.files)?;
        let _keeping = pool.keep_generations()?;
        let state = cut_disk(&pool)?;
        let consistency = SnapshotConsistency::of(&pool, &state, SnapshotConsistency::Clean)?;
        sandbox.keep_state(&state, draft, consistency, Cause::User)
    }

    /// Returns the snapshots: first those whose records cannot be read, then the others, the oldest
    /// first.
    ///
    /// # Errors
    /// If the directory of the records cannot be read.
    pub fn snapshots(&self) -> Result<Vec<Result<Snapshot, SnapshotError>>, SnapshotError> {
        Ok(Records::new(&self.files).each()?)
    }

    /// Returns the snapshot with this name; the newest one if `None`.
    ///
    /// # Errors
    /// If there is none, or its record cannot be read or is damaged. Which one is the newest is unknown
    /// if any record is damaged.
    pub fn snapshot(&self, name: Option<&str>) -> Result<Snapshot, SnapshotError> {
        let records = Records::new(&self.files);
        if let Some(name) = name {
            return records.read(&self.snapshot_name(name)?);
        }
        let all: Vec<Snapshot> = records.each()?.into_iter().collect::<Result<_, _>>()?;
        all.into_iter()
            .next_back()
            .ok_or_else(|| SnapshotError::Empty {
                sandbox: self.spec.name.clone(),
            })
    }

    /// Opens the disk as it is in a snapshot, and the images below it, to be read. The sandbox may run meanwhile,
    /// and the snapshot may be removed: its files are open.
    ///
    /// # Errors
    /// If there is no such snapshot, or its record or a generation is damaged.
    pub fn open_snapshot(&self, name: &str) -> Result<OpenState, SnapshotError> {
        self.check_has_image()?;
        let name = self.snapshot_name(name)?;
        let pool = UpperPool::find(&self.files)?.ok_or(SnapshotError::NoDisk)?;
        let _keeping = pool.keep_generations()?;
        let records = Records::new(&self.files);
        let state = records.read(&name)?.state(records.path(&name))?;
        self.open_state(&pool, &state)
    }

    /// Takes the lock of the sandbox, which must not run.
    fn claim_stopped(&self) -> Result<(Self, Lock), SnapshotError> {
        let claimed = self.claim()?.ok_or_else(|| SnapshotError::Running {
            name: self.spec.name.clone(),
        });
        claimed.map(|(sandbox, lock)| (Self::new(sandbox), lock))
    }

    /// Returns the name of a snapshot that exists.
    fn snapshot_name(&self, name: &str) -> Result<SnapshotName, SnapshotError> {
        let names = Records::new(&self.files).names()?;
        let found = names.into_iter().find(|one| one.as_str() == name);
        found.ok_or_else(|| SnapshotError::Missing {
            sandbox: self.spec.name.clone(),
            name: name.to_owned(),
        })
    }

    /// Returns the name and the number of a new snapshot; without a name it gets its number.
    /// `last_number` is the highest number that was given.
    fn new_label(
        &self,
        name: Option<SnapshotName>,
        last_number: u64,
    ) -> Result<Label, SnapshotError> {
        let records = Records::new(&self.files);
        let names = records.names()?;
        let readable = records.each()?.into_iter().filter_map(Result::ok);
        let newest = readable.map(|snapshot| snapshot.number).max();
        let newest = newest.unwrap_or(0).max(last_number);
        let mut number = newest.saturating_add(1);
        let name = name.unwrap_or_else(|| {
            // A user may have given a number as a name.
            while names.contains(&SnapshotName::numbered(number)) {
                number = number.saturating_add(1);
            }
            SnapshotName::numbered(number)
        });
        if names.contains(&name) {
            return Err(SnapshotError::Exists {
                sandbox: self.spec.name.clone(),
                name,
            });
        }
        Ok(Label { name, number })
    }

    /// Writes the record of a snapshot, whose state is durable. The caller keeps its generations.
    fn keep_state(
        &self,
        state: &State,
        draft: SnapshotDraft,
        consistency: SnapshotConsistency,
        cause: Cause,
    ) -> Result<Snapshot, SnapshotError> {
        // No other process gives this name, and none takes the unfinished record for a leftover.
        let naming = ChangeLock::take(&self.files)?;
        let last_number = self.last_snapshot_number(&naming)?;
        let label = self.new_label(draft.name, last_number)?;
        // The number is given before the snapshot exists, and stays given when it is removed. That of a command's
        // snapshot is given before the removal: the command is waiting.
        if !matches!(cause, Cause::Command(_)) {
            self.give_snapshot_number(&naming, label.number)?;
        }
        let snapshot = Snapshot {
            name: label.name,
            number: label.number,
            created_s: now_s(),
            message: draft.message,
            is_automatic: cause != Cause::User,
            command: match cause {
                Cause::Command(number) => Some(number),
                Cause::User | Cause::Rollback | Cause::Undo => None,
            },
            is_of_undo: cause == Cause::Undo,
            consistency,
            size_bytes: state.size_bytes,
            image_digest: self.spec.image_digest.clone(),
            state: hex::encode(state.to_bytes()),
        };
        Records::new(&self.files).add(&snapshot)?;
        Ok(snapshot)
    }
}

/// Ends the head of a disk, and returns the disk's state once it is durable. The caller holds the
/// sandbox's lock.
fn cut_disk(pool: &UpperPool) -> Result<State, SnapshotError> {
    let mut disk = pool.open()?;
    check_count(disk.generation_count())?;
    let state = disk.cut()?;
    disk.flush()?;
    Ok(state)
}

/// Checks that a disk may have one more generation.
fn check_count(count: usize) -> Result<(), SnapshotError> {
    if count < GENERATIONS_MAX {
        return Ok(());
    }
    Err(SnapshotError::TooMany {
        count,
        limit: GENERATIONS_MAX,
    })
}

/// The reason for a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// A user asks for it.
    User,
    /// The disk is about to be rolled back.
    Rollback,
    /// The disk is about to be rolled back to the state before a command.
    Undo,
    /// A command with this number is about to start.
    Command(u64),
}

/// The name and the number of a new snapshot.
struct Label {
    name: SnapshotName,
    number: u64,
}
