//! Applies to staged directories that were killed, finished before the directories are used.

use msb_host_changes::ApplyRecords;
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
