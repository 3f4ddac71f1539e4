use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, mkdirat, open, openat, openat2};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind};

use crate::ContainerError;
use crate::error::step;
use crate::point::descriptor_path;

/// The first parts of the two origins.
const DIRECTORY: &[u8] = b"directory";
const DISKS: &[u8] = b"disks";
/// The mount point of the container's root, below the scratch directory.
const ROOT: &str = "root";
/// The mount point of the disk for changes.
const UPPER: &str = "upper";
/// The options of the overlay. Those of the sandbox's own root would leave records that a snapshotter of the host does
/// not understand: it may read the upper directory.
const OVERLAY_OPTIONS: &str = "index=off,metacopy=off,xino=on";

/// The origin of a container's root filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootSource {
    /// A directory of the sandbox, without what is mounted below it. Changes are made in it.
    Directory(PathBuf),
    /// Disks of the machine.
    Disks {
        /// The device nodes of EROFS filesystems, the uppermost layer first; at least one.
        layers: Vec<PathBuf>,
        /// The device node of an ext4 filesystem that takes the changes; `None` for a read-only root.
        upper: Option<PathBuf>,
    },
}

impl RootSource {
    /// Returns the parts that describe the root to a first process.
    #[must_use]
    pub fn to_parts(&self) -> Vec<Vec<u8>> {
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        match self {
            Self::Directory(path) => vec![DIRECTORY.to_vec(), bytes(path)],
            Self::Disks { layers, upper } => {
                let upper = upper.as_deref().map(bytes).unwrap_or_default();
                let layers = layers.iter().map(|layer| bytes(layer));
                [DISKS.to_vec(), upper].into_iter().chain(layers).collect()
            }
        }
    }

    /// Reads what [`to_parts`](Self::to_parts) writes.
    pub(crate) fn from_parts(parts: &[Vec<u8>]) -> Result<Self, ContainerError> {
        let path = |part: &Vec<u8>| PathBuf::from(OsStr::from_bytes(part));
        match parts {
            [kind, directory] if kind == DIRECTORY => Ok(Self::Directory(path(directory))),
            [kind, upper, layers @ ..] if kind == DISKS => Ok(Self::Disks {
                layers: layers.iter().map(path).collect(),
                upper: (!upper.is_empty()).then(|| path(upper)),
            }),
            _ => Err(ContainerError::Unavailable {
                what: "the origin of the root filesystem".to_owned(),
            }),
        }
    }
}

/// Mounts the root filesystem, and opens it.
pub(super) fn mount_root(
    scratch: BorrowedFd<'_>,
    source: &RootSource,
) -> Result<OwnedFd, ContainerError> {
    let point = make(scratch, ROOT)?;
    match source {
        RootSource::Directory(path) => {
            let directory = open_directory(path);
            let directory = directory.map_err(step(format!("open {}", path.display())))?;
            mount_bind(descriptor_path(&directory), &point)
                .map_err(step(format!("mount {}", path.display())))?;
        }
        RootSource::Disks { layers, upper } => {
            mount_disks(scratch, &point, layers, upper.as_deref())?;
        }
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(scratch, ROOT, flags, Mode::empty()).map_err(step("open the root"))
}

/// Opens a directory by a path whose symlinks the sandbox may have set.
fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open("/", flags, Mode::empty())?;
    let directory = openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)?;
    Ok(directory)
}

fn mount_disks(
    scratch: BorrowedFd<'_>,
    point: &str,
    layers: &[PathBuf],
    upper: Option<&Path>,
) -> Result<(), ContainerError> {
    const ACTION: &str = "mount the overlay of the layers";
    if let ([layer], None) = (layers, upper) {
        return mount_layer(layer, point);
    }
    let mut lower = Vec::with_capacity(layers.len());
    for (number, layer) in layers.iter().enumerate() {
        let point = make(scratch, &format!("l{number}"))?;
        mount_layer(layer, &point)?;
        lower.push(point);
    }
    let mut options = format!("lowerdir={},{OVERLAY_OPTIONS}", lower.join(":"));
    let mut flags = MountFlags::RDONLY;
    if let Some(device) = upper {
        let above = make(scratch, UPPER)?;
        mount_upper(scratch, device, &above)?;
        options.push_str(&format!(",upperdir={above}/upper,workdir={above}/work"));
        flags = MountFlags::empty();
    }
    let options = CString::new(options).map_err(step(ACTION))?;
    mount("overlay", point, "overlay", flags, options.as_c_str()).map_err(step(ACTION))
}

fn mount_layer(device: &Path, point: &str) -> Result<(), ContainerError> {
    mount(device, point, "erofs", MountFlags::RDONLY, None)
        .map_err(step(format!("mount {} as EROFS", device.display())))
}

/// Mounts the disk for changes, and makes its two directories if they are missing.
fn mount_upper(scratch: BorrowedFd<'_>, device: &Path, point: &str) -> Result<(), ContainerError> {
    let options = Some(c"errors=remount-ro");
    mount(device, point, "ext4", MountFlags::empty(), options)
        .map_err(step(format!("mount {} as ext4", device.display())))?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let upper = openat(scratch, UPPER, flags, Mode::empty());
    let upper = upper.map_err(step("open the disk for changes"))?;
    for name in ["upper", "work"] {
        match mkdirat(&upper, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(step("make a directory for changes")(error)),
        }
    }
    Ok(())
}

/// Makes a mount point in the scratch directory. Returns its path.
fn make(scratch: BorrowedFd<'_>, name: &str) -> Result<String, ContainerError> {
    mkdirat(scratch, name, Mode::from_raw_mode(0o700)).map_err(step("make a mount point"))?;
    Ok(format!("/proc/self/fd/{}/{name}", scratch.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_read_as_it_was_written() {
        let disks = |upper: Option<&str>| RootSource::Disks {
            layers: vec!["/dev/vdb".into(), "/dev/vda".into()],
            upper: upper.map(PathBuf::from),
        };
        let directory = RootSource::Directory("/srv/root".into());
        for source in [directory, disks(None), disks(Some("/dev/vdc"))] {
            let parts = source.to_parts();
            assert_eq!(RootSource::from_parts(&parts).expect("read"), source);
        }
        RootSource::from_parts(&[]).expect_err("nothing");
        RootSource::from_parts(&[b"share".to_vec(), b"/".to_vec()]).expect_err("unknown");
    }
}
