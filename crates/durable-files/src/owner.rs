use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fs_err as fs;
use rustix::fs::{Gid, Uid, fchown};
use rustix::io::Errno;

use crate::directory_of;

const ROOT: u32 = 0;

/// Gives the new, open file at `path` to the owner of its directory, if root made it there.
/// A process that has given up its privileges cannot; then the file stays root's. A jail may refuse
/// to report the process's user, so the file's owner is read instead.
pub(crate) fn give(made: &File, path: &Path) -> io::Result<()> {
    let named = |error| cannot_give(path, &error);
    let made_as = made.metadata().map_err(named)?;
    let Some(above) = owner_to_be(&made_as, path)? else {
        return Ok(());
    };
    let (user, group) = (Uid::from_raw(above.uid()), Gid::from_raw(above.gid()));
    match fchown(made, Some(user), Some(group)) {
        Err(Errno::PERM) => Ok(()),
        other => other.map_err(|error| named(error.into())),
    }
}

/// Returns an error of a call on an open file, with the file's path.
fn cannot_give(path: &Path, error: &io::Error) -> io::Error {
    let path = path.display();
    let message = format!("failed to give file `{path}` to the owner of its directory: {error}");
    io::Error::new(error.kind(), message)
}

/// Returns the containing directory if root owns `path` and another user owns that directory.
pub(crate) fn owner_to_be(made: &Metadata, path: &Path) -> io::Result<Option<Metadata>> {
    if made.uid() != ROOT {
        return Ok(None);
    }
    let above = fs::metadata(directory_of(path))?;
    Ok((above.uid() != ROOT).then_some(above))
}
