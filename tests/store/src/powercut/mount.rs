use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use fs_err as fs;

use test_fixtures::command::quiet;

/// A filesystem image that is mounted while this value lives.
#[derive(Debug)]
pub(super) struct Mount {
    pub(super) target: PathBuf,
}

impl Mount {
    /// Mounts `image` at `target`, which is created.
    pub(super) fn new(image: &Path, target: PathBuf, options: &str) -> Result<Self> {
        fs::create_dir_all(&target)?;
        quiet(
            Command::new("mount")
                .args(["-o", options])
                .arg(image)
                .arg(&target),
        )?;
        Ok(Self { target })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // A mount that stays makes the next one at the same path fail.
        let _ = Command::new("umount").arg(&self.target).status();
    }
}
