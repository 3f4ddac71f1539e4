use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::lowers::PreparedLowers;
use crate::message::{Lower, Overlay};
use crate::mount::Mount;

/// An overlay over several layers. Dropping it unmounts and removes it.
#[derive(Debug)]
pub(crate) struct Layered {
    /// The files as the overlay shows them.
    pub(crate) lower: Lower,
    base: PathBuf,
    target: PathBuf,
    mounts: Vec<Mount>,
}

impl Layered {
    /// Makes the layers in the overlay's base, and mounts the overlay.
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
        for name in ["upper", "work"] {
            fs::create_dir_all(base.join(name))?;
        }
        let made = PreparedLowers::prepare(&overlay.lowers, base, source, with_large)?;
        fs::create_dir_all(target)?;
        let options = options(overlay, &made)?;
        mount(
            "overlay",
            target,
            "overlay",
            MountFlags::empty(),
            Some(options.as_c_str()),
        )
        .context("cannot mount an overlay")?;
        Ok(Self {
            lower: made.lower.within(target),
            base: base.clone(),
            target: target.to_owned(),
            mounts: made.mounts,
        })
    }
}

fn options(overlay: &Overlay, made: &PreparedLowers) -> Result<CString> {
    let base = overlay.base.display();
    let lowers: Vec<String> = made
        .directories
        .iter()
        .rev()
        .map(|directory| directory.display().to_string())
        .collect();
    Ok(CString::new(format!(
        "lowerdir={},upperdir={base}/upper,workdir={base}/work{}",
        lowers.join(":"),
        overlay.options
    ))?)
}

impl Drop for Layered {
    fn drop(&mut self) {
        // An error cannot be reported here; the next run removes leftovers.
        let _ = unmount(&self.target, UnmountFlags::DETACH);
        self.mounts.clear();
        let _ = fs::remove_dir_all(&self.base);
    }
}
