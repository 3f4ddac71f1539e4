//! An image that this kernel mounts, and the result of a walk of the mount.

use std::ffi::{CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use fstree::{Timestamp, Xattrs};
use tempfile::TempDir;
use testkit::unmount;

/// A mount that is removed when this value is dropped.
pub(crate) struct Mounted {
    directory: TempDir,
}

/// The attributes and the content at a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) path: Vec<u8>,
    pub(crate) st_mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) size_bytes: Option<u64>,
    pub(crate) mtime: Timestamp,
    pub(crate) device: (u32, u32),
    pub(crate) links: u64,
    pub(crate) xattrs: Xattrs,
    pub(crate) target: Vec<u8>,
    pub(crate) content: Vec<u8>,
}

impl Mounted {
    pub(crate) fn new(image: &[u8]) -> Self {
        Self::with_length(image, u64::try_from(image.len()).unwrap())
    }

    /// Mounts an image that is extended with zeros to a length.
    pub(crate) fn with_length(image: &[u8], length_bytes: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("image");
        fs::write(&file, image).unwrap();
        let handle = fs::File::options().write(true).open(&file).unwrap();
        handle.set_len(length_bytes).unwrap();
        Self::below(directory, &file)
    }

    /// Mounts an image that is already a file.
    pub(crate) fn file(file: &Path) -> Self {
        Self::below(tempfile::tempdir().unwrap(), file)
    }

    fn below(directory: TempDir, file: &Path) -> Self {
        let mounted = Self { directory };
        fs::create_dir(mounted.root()).unwrap();
        let output = Command::new("mount")
            .args(["-t", "erofs", "-o", "ro,loop"])
            .args([file, &mounted.root()])
            .output()
            .expect("these tests need mount(8)");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "mount failed (root is needed): {errors}"
        );
        mounted
    }

    /// Mounts an image with its devices as files (`device=`), without loop devices.
    pub(crate) fn apart(image: &[u8], devices: &[Vec<u8>]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("image");
        fs::write(&file, image).unwrap();
        let mut paths = Vec::new();
        for (number, device) in devices.iter().enumerate() {
            let path = directory.path().join(format!("device-{number}"));
            fs::write(&path, device).unwrap();
            paths.push(path);
        }
        Self::apart_below(directory, &file, &paths)
    }

    /// Mounts an image and devices that are already files.
    pub(crate) fn files_apart(file: &Path, devices: &[PathBuf]) -> Self {
        Self::apart_below(tempfile::tempdir().unwrap(), file, devices)
    }

    fn apart_below(directory: TempDir, file: &Path, devices: &[PathBuf]) -> Self {
        let mounted = Self { directory };
        fs::create_dir(mounted.root()).unwrap();
        let options: Vec<String> = devices
            .iter()
            .map(|path| format!("device={}", path.display()))
            .collect();
        let options = CString::new(options.join(",")).unwrap();
        let flags = rustix::mount::MountFlags::RDONLY;
        rustix::mount::mount(file, mounted.root(), "erofs", flags, options.as_c_str())
            .expect("these tests need root, and Linux 6.12 for mounts of files");
        mounted
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("mount")
    }

    /// Returns every path, in bytewise order of the paths.
    pub(crate) fn walk(&self) -> Vec<Seen> {
        let mut seen = Vec::new();
        let mut due = vec![Vec::new()];
        while let Some(path) = due.pop() {
            let host_path = self.root().join(OsStr::from_bytes(&path));
            if fs::symlink_metadata(&host_path).unwrap().is_dir() {
                for entry in fs::read_dir(&host_path).unwrap() {
                    let name = entry.unwrap().file_name();
                    let separator: &[u8] = if path.is_empty() { b"" } else { b"/" };
                    due.push([&path, separator, name.as_bytes()].concat());
                }
            }
            seen.push(look(&host_path, path));
        }
        seen.sort_by(|one, other| one.path.cmp(&other.path));
        seen
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        assert!(unmount(&self.root()) || std::thread::panicking());
    }
}

fn look(path: &Path, name: Vec<u8>) -> Seen {
    let metadata = fs::symlink_metadata(path).unwrap();
    let kind = metadata.file_type();
    let target = kind.is_symlink().then(|| fs::read_link(path).unwrap());
    Seen {
        path: name,
        st_mode: metadata.mode(),
        owner: (metadata.uid(), metadata.gid()),
        size_bytes: (!kind.is_dir()).then_some(metadata.len()),
        mtime: Timestamp {
            seconds: metadata.mtime(),
            nanoseconds: u32::try_from(metadata.mtime_nsec()).unwrap(),
        },
        device: (
            rustix::fs::major(metadata.rdev()),
            rustix::fs::minor(metadata.rdev()),
        ),
        links: metadata.nlink(),
        xattrs: xattrs(path),
        target: target.map_or(Vec::new(), |target| target.as_os_str().as_bytes().into()),
        content: if kind.is_file() {
            fs::read(path).unwrap()
        } else {
            Vec::new()
        },
    }
}

fn xattrs(path: &Path) -> Xattrs {
    let mut names = vec![0; 65_536];
    let kind = fs::symlink_metadata(path).unwrap().file_type();
    let has_user = kind.is_file() || kind.is_dir();
    let length = rustix::fs::llistxattr(path, &mut names).unwrap();
    names[..length]
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .filter_map(|name| {
            let mut value = vec![0; 65_536];
            match rustix::fs::lgetxattr(path, OsStr::from_bytes(name), &mut value) {
                Ok(length) => Some((name, value[..length].to_vec())),
                // The kernel shows user.* only on files and directories.
                Err(rustix::io::Errno::NODATA) if name.starts_with(b"user.") && !has_user => None,
                Err(error) => panic!("{}: {}: {error}", path.display(), name.escape_ascii()),
            }
        })
        .collect()
}
