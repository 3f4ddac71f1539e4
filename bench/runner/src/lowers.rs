use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::copying::copied;
use crate::message::{Extent, Lower, Lowers};
use crate::program::{command, output};

/// Where the files lie in plain directories: every layer has this one, as layers of an image share
/// theirs.
const SHARED: &str = "usr/lib";

/// Lower layers that are there.
#[derive(Debug)]
pub(crate) struct Made {
    /// The lowest first.
    pub(crate) directories: Vec<PathBuf>,
    /// The files, by their paths in the overlay.
    pub(crate) lower: Lower,
    /// What is mounted for them, for as long as they are needed.
    pub(crate) mounts: Vec<Mount>,
}

impl Made {
    /// Makes the layers in a directory. The files are the source, or a copy.
    pub(crate) fn of(
        lowers: &Lowers,
        base: &Path,
        source: &Lower,
        with_large: bool,
    ) -> Result<Self> {
        match lowers {
            Lowers::Directories(count) => plain(*count, base, source, with_large),
            Lowers::Images { disk, extents } => images(disk, extents, base, source),
        }
    }
}

fn plain(count: u32, base: &Path, source: &Lower, with_large: bool) -> Result<Made> {
    let directories = numbered(base, count as usize);
    for directory in &directories {
        fs::create_dir_all(directory.join(SHARED))?;
    }
    let middle = directories
        .get(directories.len() / 2)
        .context("an overlay without layers")?;
    let copied = copied(&middle.join(SHARED), source, with_large)?;
    let lower = below(middle, &copied)?;
    Ok(Made {
        directories,
        lower,
        mounts: Vec::new(),
    })
}

fn images(disk: &Path, extents: &[Extent], base: &Path, source: &Lower) -> Result<Made> {
    let directories = numbered(base, extents.len());
    let mut mounts = Vec::new();
    for (extent, directory) in extents.iter().zip(&directories) {
        fs::create_dir_all(directory)?;
        mounts.push(Mount::of_extent(disk, *extent, directory)?);
    }
    Ok(Made {
        directories,
        lower: below(Path::new("/"), source)?,
        mounts,
    })
}

fn numbered(base: &Path, count: usize) -> Vec<PathBuf> {
    (0..count)
        .map(|number| base.join(number.to_string()))
        .collect()
}

/// Where files lie below this directory.
fn below(directory: &Path, lower: &Lower) -> Result<Lower> {
    let relative =
        |path: &PathBuf| -> Result<PathBuf> { Ok(path.strip_prefix(directory)?.to_owned()) };
    Ok(Lower {
        tree: relative(&lower.tree)?,
        large: lower.large.as_ref().map(relative).transpose()?,
    })
}

/// A mounted image, unmounted with this value.
#[derive(Debug)]
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// By a loop device that reads the disk without a cache of its own, and goes with the mount.
    fn of_extent(disk: &Path, extent: Extent, target: &Path) -> Result<Self> {
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
