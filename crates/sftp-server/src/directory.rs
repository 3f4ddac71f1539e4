//! The entries of directories.

use rustix::fs::{AtFlags, Dir, Mode, OFlags, open, statat};
use rustix::io::Errno;

use crate::long_name::long_name;
use crate::{Attributes, Name, Status};

/// The number of entries in an answer. With the longest names they fill a quarter of a packet.
const ENTRIES_MAX: usize = 100;

/// Opens a directory to list it.
pub(crate) fn open_directory(path: &[u8]) -> Result<Dir, Status> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(Dir::new(open(path, flags, Mode::empty())?)?)
}

/// Reads the next entries, with `.` and `..` among them.
///
/// # Errors
/// [`Status::Eof`] if there are no more, or if the directory cannot be read.
pub(crate) fn next_names(directory: &mut Dir) -> Result<Vec<Name>, Status> {
    let mut names = Vec::new();
    while names.len() < ENTRIES_MAX {
        let Some(entry) = directory.read() else {
            break;
        };
        let entry = entry?;
        let path = entry.file_name().to_bytes().to_vec();
        match statat(directory.fd()?, &path[..], AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => names.push(Name {
                long: long_name(&path, &stat),
                attributes: Attributes::of(&stat),
                path,
            }),
            // The entry was removed meanwhile.
            Err(Errno::NOENT) => {}
            // An entry whose attributes cannot be read is still an entry.
            Err(_) => names.push(Name {
                long: path.clone(),
                attributes: Attributes::default(),
                path,
            }),
        }
    }
    if names.is_empty() {
        return Err(Status::Eof);
    }
    Ok(names)
}
