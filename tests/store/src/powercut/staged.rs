//! A staged directory on a disk after a power cut: the directory of the host, and the sandboxes that it was staged for.

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;

use super::history::History;
use super::images::rows;
use super::judge::keeps;
use super::sandboxes::kept;
use test_support::{Msb, succeed};

/// The directory of the host, beside the home of msb.
pub(super) const PROJECT: &str = "project";
/// The file that the directory has before it is staged, and the one that the sandbox adds. They have the same content.
const SEEN: &str = "seen";
const ADDED: &str = "added";

/// The staged directory of an msb.
pub(super) struct StagedDirectory<'a> {
    pub(super) msb: &'a Msb,
}

/// The places that have the file which the sandbox adds.
#[derive(Debug, Default)]
pub(super) struct Having {
    /// The names of sandboxes.
    pub(super) sandboxes: Vec<String>,
    /// [`PROJECT`], if the directory of the host has it.
    pub(super) directories: Vec<String>,
}

impl StagedDirectory<'_> {
    /// Checks that the sandboxes read what was staged, and that the added file is whole or missing everywhere.
    pub(super) fn files(&self) -> Result<Having> {
        let mut having = Having::default();
        for name in self.sandboxes()? {
            let staged = self.read(&name, SEEN)?;
            ensure!(staged.as_ref() == Some(&kept()), "{SEEN} of {name}");
            if let Some(added) = self.read(&name, ADDED)? {
                ensure!(added == kept(), "{ADDED} of {name} has another content");
                having.sandboxes.push(name);
            }
        }
        let applied = self.msb.home.with_file_name(PROJECT).join(ADDED);
        if applied.exists() {
            let is_whole = fs::read(&applied)? == kept();
            ensure!(is_whole, "{} has another content", applied.display());
            having.directories.push(PROJECT.to_owned());
        }
        Ok(having)
    }

    /// Checks that the files are where the commands promise.
    pub(super) fn promises(&self, history: &History, having: &Having) -> Result<()> {
        let listed = self.sandboxes()?;
        let mut promised = history.additions.clone();
        promised.retain(|name, _| listed.contains(name));
        keeps("the addition of", &promised, &having.sandboxes)?;
        keeps("the addition in", &history.applied, &having.directories)
    }

    /// Returns the names of the sandboxes with a staged directory.
    fn sandboxes(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for row in rows(self.msb, &["ps", "--all", "--format", "json"])? {
            let name = row["name"].as_str().context("a sandbox without a name")?;
            let mounts = ["inspect", "--format", "{{json .mounts}}", name];
            let mounts = succeed(&mut self.msb.command(&mounts))?.stdout;
            if String::from_utf8_lossy(&mounts).contains("\"staged\"") {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Returns a file of the directory in a sandbox; `None` if it cannot be read.
    fn read(&self, sandbox: &str, name: &str) -> Result<Option<Vec<u8>>> {
        let path = format!("/work/{name}");
        let read = self.msb.command(&["fs", "cat", sandbox, &path]).output()?;
        Ok(read.status.success().then_some(read.stdout))
    }
}
