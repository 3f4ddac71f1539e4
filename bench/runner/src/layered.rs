use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::copying::copied;
use crate::message::{Lower, Overlay};

/// Where the files lie in the overlay: every layer has this directory, as layers of an image share
/// theirs, and one of them the files.
const SHARED: &str = "usr/lib";

/// An overlay over plain directories, as container engines make one of an image's layers. Unmounted
/// and removed with this value.
#[derive(Debug)]
pub(crate) struct Layered {
    /// The files, seen through the overlay.
    pub(crate) lower: Lower,
    base: PathBuf,
    target: PathBuf,
}

impl Layered {
    /// Makes the layers in the overlay's base, the files in the middle one, and mounts them.
    pub(crate) fn mount(
        overlay: &Overlay,
        target: &Path,
        source: &Lower,
        with_large: bool,
    ) -> Result<Self> {
        let base = &overlay.base;
        if base.exists() {
            fs::remove_dir_all(base)?;
        }
        let names: Vec<String> = (0..overlay.layers).map(|layer| layer.to_string()).collect();
        for name in &names {
            fs::create_dir_all(base.join(name).join(SHARED))?;
        }
        for name in ["upper", "work"] {
            fs::create_dir_all(base.join(name))?;
        }
        fs::create_dir_all(target)?;
        let middle = names
            .get(names.len() / 2)
            .context("an overlay without layers")?;
        let files = base.join(middle).join(SHARED);
        let lower = copied(&files, source, with_large)?;
        let seen = |path: PathBuf| -> Result<PathBuf> {
            Ok(target.join(SHARED).join(path.strip_prefix(&files)?))
        };
        let layered = Self {
            lower: Lower {
                tree: seen(lower.tree)?,
                large: lower.large.map(seen).transpose()?,
            },
            base: base.clone(),
            target: target.to_owned(),
        };
        let base = base.display();
        let lowers: Vec<String> = names.iter().map(|name| format!("{base}/{name}")).collect();
        let options = format!(
            "lowerdir={},upperdir={base}/upper,workdir={base}/work",
            lowers.join(":")
        );
        let options = std::ffi::CString::new(options)?;
        mount(
            "overlay",
            target,
            "overlay",
            MountFlags::empty(),
            Some(options.as_c_str()),
        )
        .context("cannot mount an overlay")?;
        Ok(layered)
    }
}

impl Drop for Layered {
    fn drop(&mut self) {
        // Nobody is left to be told; what stays is removed by the next run.
        let _ = unmount(&self.target, UnmountFlags::DETACH);
        let _ = fs::remove_dir_all(&self.base);
    }
}
