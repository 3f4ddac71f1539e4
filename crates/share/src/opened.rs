use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use fuse_backend_rs::abi::fuse_abi::ROOT_ID;
use fuse_backend_rs::api::filesystem::{Context, FileSystem as _, FsOptions};
use fuse_backend_rs::passthrough::{CachePolicy, Config, PassthroughFs};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2};

use crate::bounds::{Bounded, Handles};
use crate::{CACHED, Entry, Kind};

/// The files below something that is open.
pub(crate) type Files = Bounded<PassthroughFs<()>>;

/// Something of the host that is open.
pub(crate) struct Opened {
    kind: Kind,
    file: OwnedFd,
}

impl Opened {
    /// Opens what an entry names, without a symlink on the way: who may write to a directory above it cannot
    /// put another in its place.
    pub(crate) fn open(entry: &Entry<'_>, is_read_only: bool) -> io::Result<(Self, Files)> {
        let (file, root, _parent) = match entry.kind {
            Kind::Directory => {
                let directory = open(entry.path, OFlags::DIRECTORY)?;
                let root = path_of_directory(&directory);
                (directory, root, None)
            }
            // The library follows no symlink, and the name by which this process knows an open file is one. So
            // it opens the file in its directory, once more.
            Kind::File | Kind::Disk => {
                let file = open(entry.path, OFlags::empty())?;
                expect_regular(&fstat(&file)?)?;
                let (parent, name) = parts(entry.path)?;
                let parent = open(parent, OFlags::DIRECTORY)?;
                let root = format!("{}/{name}", path_of_directory(&parent));
                (file, root, Some(parent))
            }
        };
        let files = PassthroughFs::<()>::new(Config {
            root_dir: root,
            // The host changes files beside the guest: contents are asked for anew with each open,
            // names and attributes after a second.
            cache_policy: CachePolicy::Auto,
            entry_timeout: CACHED,
            attr_timeout: CACHED,
            xattr: true,
            killpriv_v2: true,
            // A number of the library's own for a file would be kept for ever, and the file forgotten.
            use_host_ino: true,
            // With it, the library judges names too, and takes only such options as it is told.
            do_import: true,
            ..Config::default()
        })?;
        // It opens the root. No guest's `init` gets that far.
        files.init(FsOptions::HANDLE_KILLPRIV_V2)?;
        let status = fstat(&file)?;
        expect_same(&files, &status)?;
        let length_bytes = u64::try_from(status.st_size).unwrap_or(0);
        let files = Bounded {
            files,
            is_read_only,
            disk_bytes: (entry.kind == Kind::Disk).then_some(length_bytes),
            handles: Handles::default(),
        };
        let kind = entry.kind;
        Ok((Self { kind, file }, files))
    }

    /// A path that leads this process to what is open, whatever has its name by now.
    pub(crate) fn path(&self) -> PathBuf {
        match self.kind {
            Kind::Directory => path_of_directory(&self.file).into(),
            Kind::File | Kind::Disk => format!("/proc/self/fd/{}", self.file.as_raw_fd()).into(),
        }
    }

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }
}

fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS;
    Ok(openat2(CWD, path, flags, Mode::empty(), resolve)?)
}

/// A file's directory, and its name in that.
fn parts(path: &Path) -> io::Result<(&Path, &str)> {
    let name = path.file_name().and_then(|name| name.to_str());
    let parts = path.parent().zip(name);
    parts.ok_or_else(|| io::ErrorKind::InvalidFilename.into())
}

/// By what an open directory can be named in its own process. The dot at its end makes it the directory,
/// also for who follows no symlink.
fn path_of_directory(directory: &OwnedFd) -> String {
    format!("/proc/self/fd/{}/.", directory.as_raw_fd())
}

fn expect_regular(file: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(file.st_mode) {
        FileType::RegularFile => Ok(()),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

/// The library has opened the same file, or another has its name by now.
fn expect_same(files: &PassthroughFs<()>, file: &Stat) -> io::Result<()> {
    let (root, _) = files.getattr(&Context::default(), ROOT_ID, None)?;
    if (root.st_dev, root.st_ino) == (file.st_dev, file.st_ino) {
        Ok(())
    } else {
        Err(io::Error::other("it has been replaced by another file"))
    }
}
