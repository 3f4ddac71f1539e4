//! The changes that commands made, counted.

use std::sync::Arc;

use command_journal::NextState;
use msb_runtime::{Home, Sandbox as StoredSandbox};
use msb_sandbox_files::{ChangeScope, Diff, DiffSide, SandboxAtRest};
use msb_sandbox_handle::Handle;
use msb_sandbox_snapshots::SnapshotError;

use super::{ChangeCounts, CommandRecord};
use crate::{ChangeKind, Error};

/// The state of a sandbox's files after a command.
enum After {
    Snapshot(String),
    Current(Box<SandboxAtRest>),
}

/// Counts the changes of each command whose snapshot exists. `next` has the states after them.
pub(super) async fn count(
    handle: &Arc<Handle>,
    commands: &mut [CommandRecord],
    next: Vec<NextState>,
) -> Result<(), Error> {
    let shared = handle.shared();
    for (command, next) in commands.iter_mut().zip(next) {
        let Some(before) = command.snapshot.clone() else {
            continue;
        };
        let stored = handle.stored();
        let after = match next {
            NextState::Snapshot(name) => After::Snapshot(name),
            NextState::Current => After::Current(Box::new(shared.at_rest(&stored, true).await?)),
        };
        let counting = shared.with_home(move |shared| {
            let after = match after {
                After::Snapshot(name) => of_snapshot(&stored, &name)?,
                After::Current(at_rest) => Some(*at_rest),
            };
            let Some((old, new)) = of_snapshot(&stored, &before)?.zip(after) else {
                return Ok(None);
            };
            compare(shared.home(), old, new).map(Some)
        });
        command.changes = counting.await?;
    }
    Ok(())
}

/// Returns the files of a snapshot; `None` if it was removed.
fn of_snapshot(stored: &StoredSandbox, name: &str) -> Result<Option<SandboxAtRest>, Error> {
    match SandboxAtRest::open_snapshot(stored, name) {
        Ok(at_rest) => Ok(Some(at_rest)),
        Err(SnapshotError::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn compare(home: &Home, old: SandboxAtRest, new: SandboxAtRest) -> Result<ChangeCounts, Error> {
    let (old, new) = (Box::new(old), Box::new(new));
    let (old, new) = (DiffSide::Sandbox(old), DiffSide::Sandbox(new));
    let diff = Diff::between(home, old, new, &ChangeScope::default())?;
    let mut counts = ChangeCounts::default();
    for change in diff.changes().filter(|change| !change.is_implied) {
        match ChangeKind::from(change.kind) {
            ChangeKind::Added => counts.added += 1,
            ChangeKind::Changed => counts.changed += 1,
            ChangeKind::Deleted => counts.deleted += 1,
        }
    }
    Ok(counts)
}
