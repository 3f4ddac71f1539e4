//! The environment of a new user: no Rust, no variables of msb, an empty home.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::directory;

/// An environment that packages are installed into.
pub(super) struct User {
    /// The directory that programs run in.
    pub(super) directory: PathBuf,
    image: PathBuf,
}

impl User {
    /// Makes an empty environment. Tests load `image`, an OCI layout.
    pub(super) fn new(name: &str, image: &Path) -> Result<Self> {
        let user = super::empty(&directory(name)?)?;
        std::fs::create_dir(user.join("home"))?;
        Ok(Self {
            directory: user,
            image: image.to_owned(),
        })
    }

    /// Returns a command as the new user runs it.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.directory)
            .env_clear()
            .env("PATH", path_without_rust())
            .env("HOME", self.directory.join("home"))
            .env("LANG", "C.UTF-8")
            .env("SDK_TEST_IMAGE", &self.image);
        command
    }
}

/// Returns the directories of `PATH` that have no Rust.
fn path_without_rust() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_no_rust = |directory: &PathBuf| {
        !["cargo", "rustc"]
            .iter()
            .any(|name| directory.join(name).exists())
    };
    let kept = std::env::split_paths(&path).filter(has_no_rust);
    // Every directory comes from a PATH, so none contains the separator.
    std::env::join_paths(kept).unwrap_or_default()
}
