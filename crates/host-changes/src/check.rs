use std::collections::BTreeSet;

use rustix::fd::OwnedFd;
use rustix::fs::{Access, AtFlags, accessat, fstatvfs, unlinkat};
use rustix::io::Errno;

use super::host_directory::{HostDirectory, split};
use super::host_file::names;
use super::plan::Plan;
use super::unfinished_name::is_unfinished;
use super::{ApplyError, HostAction};

/// Checks what can be known before anything is written, and removes unfinished files.
pub(super) fn check(directory: &HostDirectory, plan: &Plan) -> Result<(), ApplyError> {
    let mut paths: BTreeSet<&[u8]> = plan.steps.iter().map(|step| split(&step.path).0).collect();
    for step in &plan.steps {
        if step.action == HostAction::Remove {
            paths.insert(&step.path);
        }
    }
    // One directory is open at a time: a process may have a thousand files.
    for path in &paths {
        if let Some(open) = existing(directory, path)? {
            let access = Access::WRITE_OK | Access::EXEC_OK;
            accessat(&open, c".", access, AtFlags::EACCESS)
                .map_err(directory.failed("write to", path))?;
        }
    }
    check_room(directory, plan.needed_bytes)?;
    // New files are written into the nearest directory that exists, which may have been another one for the
    // process that was killed.
    for path in plan.steps.iter().map(|step| &step.path[..]) {
        let mut above = split(path).0;
        while paths.insert(above) && !above.is_empty() {
            above = split(above).0;
        }
    }
    for path in &paths {
        if let Some(open) = existing(directory, path)? {
            remove_unfinished(&open).map_err(directory.failed("tidy up", path))?;
        }
    }
    Ok(())
}

/// Opens a directory. `None` if there is none yet: it is made, or it is a file that is removed.
fn existing(directory: &HostDirectory, path: &[u8]) -> Result<Option<OwnedFd>, ApplyError> {
    match directory.open_directory(path) {
        Ok(open) => Ok(Some(open)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(directory.failed("open", path)(error)),
    }
}

fn check_room(directory: &HostDirectory, needed_bytes: u64) -> Result<(), ApplyError> {
    let root = directory.open_to_read(b"")?;
    let room = fstatvfs(&root).map_err(directory.failed("inspect", b""))?;
    let free_bytes = room.f_bavail.saturating_mul(room.f_frsize);
    if needed_bytes <= free_bytes {
        return Ok(());
    }
    Err(ApplyError::Full {
        path: directory.path_of(b""),
        needed_bytes,
        free_bytes,
    })
}

/// Removes what a process that was killed left in a directory.
fn remove_unfinished(directory: &OwnedFd) -> rustix::io::Result<()> {
    for name in names(directory)? {
        if is_unfinished(&name) {
            match unlinkat(directory, &name[..], AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT | Errno::ISDIR) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
