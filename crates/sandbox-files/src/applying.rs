//! Applies to staged directories that were killed, finished before the directories are used.

use msb_host_changes::{ApplyRecords, WaitingApply};
use msb_runtime::{Home, Mount, staged};

use crate::ApplyError;

/// Finishes the applies to the staged directories among these mounts that were killed. A file that the host changed
/// since is left unchanged.
///
/// # Errors
/// If a process applies changes to one of the directories, or an apply cannot be finished.
pub fn finish_applying(home: &Home, mounts: &[Mount]) -> Result<(), ApplyError> {
    let records = ApplyRecords::of_home(home.root());
    for (mount, staged) in staged(mounts) {
        // A directory of another host, or one that is gone, has none.
        if let Ok(directory) = staged.source(&mount.target) {
            records.finish(directory)?;
        }
    }
    Ok(())
}

/// Returns the finding about an apply that waits to be finished, and its remedy.
pub fn applying_problem(waiting: &WaitingApply) -> (String, String) {
    let record = waiting.record.to_string_lossy();
    let record = terminal_text::escaped(&record);
    match &waiting.problem {
        None => (
            format!("an msb apply to it was interrupted; {record} has the rest"),
            "apply again, or run msb doctor --fix, which finishes it".to_owned(),
        ),
        Some(problem) => (
            format!("an msb apply to it was interrupted, and cannot be finished: {problem}"),
            format!("if the cause cannot be removed, remove {record} and apply again"),
        ),
    }
}
