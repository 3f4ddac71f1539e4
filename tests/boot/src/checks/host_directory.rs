use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use test_support::TestEnv;
use testkit::TreeDump;

/// A directory of this host from which and into which files are copied.
pub(crate) struct HostDirectory(pub(crate) PathBuf);

impl HostDirectory {
    /// Makes an empty directory in the test's own directory.
    pub(crate) fn new(env: &TestEnv) -> Result<Self> {
        let path = env.work.join("host");
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    pub(crate) fn dump(&self, name: &str) -> Result<TreeDump> {
        Ok(TreeDump::from_directory(&self.0.join(name))?)
    }
}
