use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use testkit::TreeDump;

/// A directory of this host that goes away with its value.
pub(crate) struct Ground(pub(crate) PathBuf);

impl Ground {
    pub(crate) fn new(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("msb-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    pub(crate) fn dump(&self, name: &str) -> Result<TreeDump> {
        Ok(TreeDump::of_directory(&self.0.join(name))?)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
