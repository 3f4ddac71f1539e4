use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2};
use rustix::io::Errno;

/// Opens the directory to mount on, and makes it and its parents if the image has none. The image's
/// symlinks are followed inside the root only.
///
/// # Errors
/// If the path leads to something else than a directory, or the directory cannot be made.
pub fn mount_point(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = || openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT);
    match open() {
        Err(Errno::NOENT) => {
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            let mode = Mode::from_raw_mode(0o755);
            match parent {
                Some(parent) => {
                    let parent = mount_point(root, parent)?;
                    mkdirat(parent.as_fd(), name, mode)?;
                }
                None => mkdirat(root, name, mode)?,
            }
            Ok(open()?)
        }
        outcome => Ok(outcome?),
    }
}

/// Opens the file to mount on, and makes an empty one and its directories if the image has none.
/// The image's symlinks are followed inside the root only.
///
/// # Errors
/// If the path leads to a directory, or the file cannot be made.
pub fn file_point(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let look_up = || openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT);
    let point = match look_up() {
        Err(Errno::NOENT) => {
            let directory = path.parent().unwrap_or(Path::new(""));
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            let made = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(0o644);
            if directory.as_os_str().is_empty() {
                openat(root, name, made, mode)?
            } else {
                openat(mount_point(root, directory)?, name, made, mode)?
            };
            look_up()?
        }
        point => point?,
    };
    match FileType::from_raw_mode(fstat(&point)?.st_mode) {
        FileType::Directory => Err(io::ErrorKind::IsADirectory.into()),
        _ => Ok(point),
    }
}

/// Opens what a path leads to below the root; `None` if that does not exist.
pub(crate) fn look_up(root: &OwnedFd, path: &str) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns true if an open file is a directory.
pub(crate) fn is_directory(file: impl AsFd) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode) == FileType::Directory)
}

/// Returns the path of an open file for calls that take no descriptor. It is one of the `/proc` that this process
/// sees.
pub fn descriptor_path(file: impl AsFd) -> String {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn open(path: &Path) -> OwnedFd {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        rustix::fs::open(path, flags, Mode::empty()).expect("opened")
    }

    #[test]
    fn points_are_made_below_the_root_and_never_beside_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let (root_path, beside) = (
            directory.path().join("root"),
            directory.path().join("beside"),
        );
        std::fs::create_dir(&root_path).expect("made");
        std::fs::create_dir(&beside).expect("made");
        symlink(&beside, root_path.join("absolute")).expect("linked");
        symlink("../beside", root_path.join("relative")).expect("linked");
        let root = open(&root_path);
        mount_point(&root, Path::new("/a/b")).expect("made");
        assert!(root_path.join("a/b").is_dir());
        file_point(&root, Path::new("/c/d")).expect("made");
        assert!(root_path.join("c/d").is_file());
        for link in ["absolute", "relative"] {
            let path = format!("/{link}/x");
            // The link leads to a directory that the root does not have.
            mount_point(&root, Path::new(&path)).expect_err("outside");
            assert!(look_up(&root, &path).expect("looked up").is_none());
        }
        assert_eq!(std::fs::read_dir(&beside).expect("read").count(), 0);
        file_point(&root, Path::new("/a")).expect_err("a directory");
    }
}
