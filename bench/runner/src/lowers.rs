use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::copying::copied;
use crate::message::{Extent, Lower, Lowers};
use crate::mount::Mount;

/// The directory with the files in plain directories. Every layer has it, as the layers of an image
/// share theirs.
const SHARED: &str = "usr/lib";

/// Lower layers that were made or mounted.
#[derive(Debug)]
pub(crate) struct PreparedLowers {
    /// The directories of the layers, the lowest first.
    pub(crate) directories: Vec<PathBuf>,
    /// The files, by their paths in the overlay.
    pub(crate) lower: Lower,
    /// The mounts that the layers need.
    pub(crate) mounts: Vec<Mount>,
}

impl PreparedLowers {
    /// Makes the layers in `base`. The files are those of the source, or a copy of them.
    pub(crate) fn prepare(
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

fn plain(count: u32, base: &Path, source: &Lower, with_large: bool) -> Result<PreparedLowers> {
    let directories = numbered(base, count as usize);
    for directory in &directories {
        fs::create_dir_all(directory.join(SHARED))?;
    }
    let middle = directories
        .get(directories.len() / 2)
        .context("an overlay needs at least one layer")?;
    let copied = copied(&middle.join(SHARED), source, with_large)?;
    let lower = copied.below(middle)?;
    Ok(PreparedLowers {
        directories,
        lower,
        mounts: Vec::new(),
    })
}

fn images(disk: &Path, extents: &[Extent], base: &Path, source: &Lower) -> Result<PreparedLowers> {
    let directories = numbered(base, extents.len());
    let mut mounts = Vec::new();
    for (extent, directory) in extents.iter().zip(&directories) {
        fs::create_dir_all(directory)?;
        mounts.push(Mount::from_extent(disk, *extent, directory)?);
    }
    Ok(PreparedLowers {
        directories,
        lower: source.below(Path::new("/"))?,
        mounts,
    })
}

fn numbered(base: &Path, count: usize) -> Vec<PathBuf> {
    (0..count)
        .map(|number| base.join(number.to_string()))
        .collect()
}
