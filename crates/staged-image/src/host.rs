//! Files of the host, opened without following a symlink.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use crate::StageError;

/// Returns an error of the host for a file below a directory.
pub(crate) fn failed(
    action: &'static str,
    directory: &Path,
    path: &[u8],
) -> impl Fn(Errno) -> StageError + use<> {
    let path = joined(directory, path);
    move |error| StageError::Host {
        action,
        path: path.clone(),
        source: error.into(),
    }
}

/// Returns the path of a file below a directory.
pub(crate) fn joined(directory: &Path, path: &[u8]) -> PathBuf {
    if path.is_empty() {
        directory.to_owned()
    } else {
        directory.join(OsStr::from_bytes(path))
    }
}

/// Opens a file of any kind without reading it.
pub(crate) fn open_path(directory: impl AsFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::empty())
}

/// Opens a regular file for reading, by its path below a directory.
pub(crate) fn open_file(directory: impl AsFd, path: &[u8]) -> rustix::io::Result<File> {
    // A pipe that took the file's place must not make the opening wait.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(directory, path, flags, Mode::empty(), resolve).map(File::from)
}

/// Returns the names in a directory that is open with `O_PATH`, in ascending order. One that has been removed
/// has none. `None` if there are more than `most`, which are not read.
pub(crate) fn names(directory: impl AsFd, most: usize) -> rustix::io::Result<Option<Vec<Vec<u8>>>> {
    match all_names(directory, most) {
        Err(Errno::NOENT) => Ok(Some(Vec::new())),
        names => names,
    }
}

fn all_names(directory: impl AsFd, most: usize) -> rustix::io::Result<Option<Vec<Vec<u8>>>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = openat(directory, c".", flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::new(readable)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if matches!(&name[..], b"." | b"..") {
            continue;
        }
        if names.len() >= most {
            return Ok(None);
        }
        names.push(name);
    }
    names.sort_unstable();
    Ok(Some(names))
}

#[cfg(test)]
mod tests {
    use rustix::fs::CWD;

    use super::*;

    #[test]
    fn a_directory_that_was_removed_has_no_names() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = parent.path().join("gone");
        std::fs::create_dir(&path).expect("made");
        let opened = open_path(CWD, path.as_os_str().as_bytes()).expect("opened");
        assert_eq!(names(&opened, 0), Ok(Some(Vec::new())));
        std::fs::remove_dir(&path).expect("removed");
        assert_eq!(names(&opened, 0), Ok(Some(Vec::new())));
    }

    #[test]
    fn the_names_of_a_directory_are_read_up_to_the_limit() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["b", "a", "c"] {
            std::fs::write(directory.path().join(name), "").expect("written");
        }
        let opened = open_path(CWD, directory.path().as_os_str().as_bytes()).expect("opened");
        let all = [b"a", b"b", b"c"].map(|name| name.to_vec());
        assert_eq!(names(&opened, 3), Ok(Some(all.to_vec())));
        assert_eq!(names(&opened, 2), Ok(None));
    }
}
