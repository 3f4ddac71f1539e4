//! The files of a group, and the groups in it, which the container's root may have made in any number.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;

use super::{FILE_MAX_BYTES, GROUPS_MAX, PIDS_MAX};

/// The most groups above each other that are looked into, each of which costs an open file. The kernel bounds the depth
/// by nothing.
const DEPTH_MAX: usize = 32;

/// Writes a file of a group.
pub(super) fn write(group: BorrowedFd<'_>, file: &str, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(group, file, flags, Mode::empty())?;
    // The kernel takes all of it or nothing.
    rustix::io::write(file, bytes)?;
    Ok(())
}

/// Reads a file of a group.
pub(super) fn read(group: BorrowedFd<'_>, file: &str) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = File::from(openat(group, file, flags, Mode::empty())?);
    let mut bytes = Vec::new();
    file.take(FILE_MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the process IDs in a group and in the groups in it.
pub(super) fn pids(group: BorrowedFd<'_>) -> io::Result<Vec<u32>> {
    let mut pids = Vec::new();
    let mut groups = 0;
    collect(group, 0, &mut groups, &mut pids)?;
    Ok(pids)
}

fn collect(
    group: BorrowedFd<'_>,
    depth: usize,
    groups: &mut usize,
    pids: &mut Vec<u32>,
) -> io::Result<()> {
    let listed = match read(group, "cgroup.procs") {
        Ok(listed) => listed,
        // A threaded group has its processes in the group above, and a removed one has none.
        Err(_) if depth > 0 => return Ok(()),
        Err(error) => return Err(error),
    };
    let left = PIDS_MAX - pids.len();
    let numbers = listed.lines().filter_map(|line| line.parse::<u32>().ok());
    pids.extend(numbers.take(left));
    if depth == DEPTH_MAX || pids.len() == PIDS_MAX {
        return Ok(());
    }
    for below in below(group, groups)? {
        collect(below.as_fd(), depth + 1, groups, pids)?;
    }
    Ok(())
}

/// Removes the groups in a group, the innermost ones first.
pub(super) fn remove_below(group: BorrowedFd<'_>) -> io::Result<()> {
    remove_at(group, 0, &mut 0)
}

fn remove_at(group: BorrowedFd<'_>, depth: usize, removed: &mut usize) -> io::Result<()> {
    if depth == DEPTH_MAX {
        return Err(too_many());
    }
    for name in names(group, removed)? {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(group, &name, flags, Mode::empty()) {
            Ok(below) => remove_at(below.as_fd(), depth + 1, removed)?,
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error.into()),
        }
        match unlinkat(group, &name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Opens the groups right in a group.
fn below(group: BorrowedFd<'_>, seen: &mut usize) -> io::Result<Vec<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut groups = Vec::new();
    for name in names(group, seen)? {
        match openat(group, &name, flags, Mode::empty()) {
            Ok(below) => groups.push(below),
            // It was removed meanwhile.
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(groups)
}

/// Lists the groups right in a group, and counts them with those that were seen before.
fn names(group: BorrowedFd<'_>, seen: &mut usize) -> io::Result<Vec<std::ffi::CString>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listed = openat(group, ".", flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::new(listed)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_group = entry.file_type() == FileType::Directory;
        if !is_group || matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if *seen == GROUPS_MAX {
            return Err(too_many());
        }
        *seen += 1;
        names.push(name.to_owned());
    }
    Ok(names)
}

fn too_many() -> io::Error {
    let message = format!(
        "the container has more than {GROUPS_MAX} control groups, or more than {DEPTH_MAX} in each \
         other"
    );
    io::Error::new(io::ErrorKind::QuotaExceeded, message)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn open(path: &Path) -> OwnedFd {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        rustix::fs::open(path, flags, Mode::empty()).expect("opened")
    }

    #[test]
    fn processes_of_all_groups_are_listed() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(root.path().join("a/b")).expect("made");
        for (path, pids) in [("", "7\n8\n"), ("a", ""), ("a/b", "9\n")] {
            fs::write(root.path().join(path).join("cgroup.procs"), pids).expect("written");
        }
        let listed = pids(open(root.path()).as_fd()).expect("read");
        assert_eq!(listed, [7, 8, 9]);
        let lines: Vec<_> = (0..2 * PIDS_MAX).map(|pid| format!("{pid}\n")).collect();
        fs::write(root.path().join("cgroup.procs"), lines.concat()).expect("written");
        let listed = pids(open(root.path()).as_fd()).expect("read");
        assert_eq!(listed.len(), PIDS_MAX);
    }

    #[test]
    fn groups_are_removed_from_the_inside() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(root.path().join("a/b/c")).expect("made");
        fs::create_dir_all(root.path().join("d")).expect("made");
        remove_below(open(root.path()).as_fd()).expect("removed");
        assert_eq!(fs::read_dir(root.path()).expect("read").count(), 0);
        let deep = vec!["x"; DEPTH_MAX + 2].join("/");
        fs::create_dir_all(root.path().join(deep)).expect("made");
        remove_below(open(root.path()).as_fd()).expect_err("too deep");
    }
}
