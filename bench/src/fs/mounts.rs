use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::places::ROOT_OPTIONS;
use crate::msb::text;

/// Mounts on the host, unmounted in reverse order when this value is dropped.
pub(super) struct Mounts {
    directory: PathBuf,
    made: Vec<PathBuf>,
}

impl Mounts {
    /// Returns a set of mounts, each in its own directory below this one.
    pub(super) fn below(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            made: Vec::new(),
        }
    }

    /// Mounts an image of a filesystem through a loop device.
    pub(super) fn image(&mut self, name: &str, kind: &str, image: &Path) -> Result<PathBuf> {
        let options = if kind == "erofs" { "ro,loop" } else { "loop" };
        let mut mount = Command::new("mount");
        mount
            .args(["-t", kind, "-o", options])
            .arg(image.canonicalize()?);
        self.mount(name, &mut mount)
    }

    /// Mounts an overlay of `lowers`, the highest first, with its upper directory in `writable`.
    /// The options are those of a guest's root, as far as the host's kernel supports them.
    pub(super) fn overlay(
        &mut self,
        name: &str,
        lowers: &[PathBuf],
        writable: &Path,
    ) -> Result<PathBuf> {
        let layers = self.layers(lowers, &writable.join(name))?;
        let options = format!("{layers}{ROOT_OPTIONS}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "overlay", "overlay", "-o", &options]);
        self.mount(name, &mut mount)
    }

    /// Mounts such an overlay with `fuse-overlayfs`.
    pub(super) fn fuse_overlay(
        &mut self,
        name: &str,
        lowers: &[PathBuf],
        writable: &Path,
    ) -> Result<PathBuf> {
        let layers = self.layers(lowers, &writable.join(name))?;
        let mut mount = Command::new("fuse-overlayfs");
        mount.args(["-o", &layers]);
        self.mount(name, &mut mount)
    }

    /// Returns an overlay's options for its layers. The paths are relative, so that those of 127
    /// layers fit into the one page that the kernel accepts.
    fn layers(&self, lowers: &[PathBuf], writable: &Path) -> Result<String> {
        for name in ["upper", "work"] {
            fs::create_dir_all(writable.join(name))?;
        }
        let relative = |path: &Path| -> Result<String> {
            Ok(path.strip_prefix(&self.directory)?.display().to_string())
        };
        let lowers: Vec<String> = lowers
            .iter()
            .map(|path| relative(path))
            .collect::<Result<_>>()?;
        let writable = relative(writable)?;
        Ok(format!(
            "lowerdir={},upperdir={writable}/upper,workdir={writable}/work",
            lowers.join(":")
        ))
    }

    fn mount(&mut self, name: &str, command: &mut Command) -> Result<PathBuf> {
        let target = self.directory.join(name);
        fs::create_dir_all(&target)?;
        text(command.arg(&target).current_dir(&self.directory))?;
        self.made.push(target.clone());
        Ok(target)
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        for target in self.made.iter().rev() {
            // A mount that stays shows in the host's list of mounts.
            let _ = Command::new("umount").arg(target).status();
        }
    }
}
