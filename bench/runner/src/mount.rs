use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::message::Extent;
use crate::program::{command, output};

/// A mounted image. Dropping it unmounts the image.
#[derive(Debug)]
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// Mounts a whole disk.
    pub(crate) fn from_disk(disk: &Path, target: &Path) -> Result<Self> {
        mount(disk, target, "erofs", MountFlags::RDONLY, None)
            .with_context(|| format!("cannot mount {}", disk.display()))?;
        Ok(Self(target.to_owned()))
    }

    /// Mounts a part of a disk through a loop device.
    ///
    /// The loop device reads the disk without its own cache, and disappears with the mount.
    pub(crate) fn from_extent(disk: &Path, extent: Extent, target: &Path) -> Result<Self> {
        let (start, length) = (extent.start_bytes, extent.length_bytes);
        let mut losetup = command("losetup", Path::new("/"));
        losetup
            .args(["--find", "--show", "--read-only", "--direct-io=on"])
            .args(["--offset", &start.to_string()])
            .args(["--sizelimit", &length.to_string()]);
        let device = output(losetup.arg(disk))?;
        let device = device.trim_end();
        let mounted = mount(device, target, "erofs", MountFlags::RDONLY, None).with_context(|| {
            format!(
                "cannot mount the filesystem at byte {start} of {}",
                disk.display()
            )
        });
        // The device exists for as long as it is mounted.
        output(command("losetup", Path::new("/")).args(["--detach", device]))?;
        mounted.map(|()| Self(target.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // An error cannot be reported here; the next run removes leftovers.
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}
