//! msb's artifacts and trees against what other tools make of the same image.

mod artifacts;
mod refusals;
mod store;
mod trees;

pub(crate) use artifacts::check_artifacts;
pub(crate) use refusals::check_refusals;
pub(crate) use store::{Listing, difference, kill_loads, list, load_twice};
pub(crate) use trees::{compare, guest_tree, host_tree, mounted_tree};

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};

/// An msb with a store of its own.
pub(crate) struct Msb {
    pub(crate) program: PathBuf,
    pub(crate) home: PathBuf,
}

/// Where an image's artifacts lie.
pub(crate) struct Artifacts {
    pub(crate) fsmeta: PathBuf,
    pub(crate) vmdk: PathBuf,
    pub(crate) layers: Vec<PathBuf>,
}

impl Msb {
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.env("MSB_HOME", &self.home).args(arguments);
        command
    }

    /// Loads the layout at `layout` under `name`.
    pub(crate) fn load(&self, layout: &Path, name: &str) -> Result<()> {
        succeed(self.command(&["load", "-q", "-t", name]).arg(layout)).map(drop)
    }

    pub(crate) fn inspect(&self, name: &str) -> Result<Artifacts> {
        let output = succeed(&mut self.command(&["image", "inspect", "--format", "json", name]))?;
        let json: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let path = |value: &serde_json::Value| value.as_str().map(PathBuf::from);
        let layers = json["layers"].as_array().context("no layers")?;
        Ok(Artifacts {
            fsmeta: path(&json["fsmeta"]).context("no fsmeta")?,
            vmdk: path(&json["vmdk"]).context("no vmdk")?,
            layers: layers
                .iter()
                .map(path)
                .collect::<Option<_>>()
                .context("layers are no paths")?,
        })
    }
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) -> Result<Output> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} gave {}: {}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output)
}
