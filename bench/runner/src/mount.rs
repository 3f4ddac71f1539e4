use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::message::Extent;
use crate::program::{command, output};

/// A mounted image, unmounted with this value.
#[derive(Debug)]
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// A whole disk.
    pub(crate) fn of_disk(disk: &Path, target: &Path) -> Result<Self> {
        mount(disk, target, "erofs", MountFlags::RDONLY, None)
            .with_context(|| format!("cannot mount {}", disk.display()))?;
        Ok(Self(target.to_owned()))
    }

    /// A part of a disk, by a loop device that reads the disk without a cache of its own, and goes with the mount.
    pub(crate) fn of_extent(disk: &Path, extent: Extent, target: &Path) -> Result<Self> {
        let (start, length) = (extent.start_bytes, extent.length_bytes);
        let mut losetup = command("losetup", Path::new("/"));
        losetup
            .args(["--find", "--show", "--read-only", "--direct-io=on"])
            .args(["--offset", &start.to_string()])
            .args(["--sizelimit", &length.to_string()]);
        let device = output(losetup.arg(disk))?;
        let device = device.trim_end();
        let mounted = mount(device, target, "erofs", MountFlags::RDONLY, None)
            .with_context(|| format!("cannot mount what lies at {start} of {}", disk.display()));
        // It stays for as long as it is mounted.
        output(command("losetup", Path::new("/")).args(["--detach", device]))?;
        mounted.map(|()| Self(target.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Nobody is left to be told; what stays is removed by the next run.
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}
