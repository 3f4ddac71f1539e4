//! A home of msb for the parts that boot no guest.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::growth::image::Shape;
use crate::msb::Msb;

/// The image of the sandboxes, which is never booted.
pub(super) const IMAGE: &str = "bench/image:latest";

/// A home with an image, in a new directory.
pub(super) struct Home {
    pub(super) msb: Msb,
    directory: PathBuf,
}

impl Home {
    /// Makes a home below a directory.
    pub(super) fn make(msb: &Msb, work: &Path) -> Result<Self> {
        let (directory, layout) = (work.join("home"), work.join("layout"));
        let msb = msb.in_home(&directory);
        Shape::spread(1, 1_000).write(&layout)?;
        msb.output(["load", "--quiet", "--tag", IMAGE, &layout.to_string_lossy()])?;
        fs::remove_dir_all(layout)?;
        Ok(Self { msb, directory })
    }

    /// Returns the directory of the only sandbox.
    pub(super) fn sandbox(&self) -> Result<PathBuf> {
        let mut sandboxes = fs::read_dir(self.directory.join("sandboxes"))?;
        Ok(sandboxes.next().context("the home has no sandbox")??.path())
    }

    /// Removes the images of staged directories.
    pub(super) fn forget_staged(&self) -> Result<()> {
        Ok(fs::remove_dir_all(self.directory.join("staged"))?)
    }
}
