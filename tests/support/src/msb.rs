use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::process::succeed;

/// An msb with a separate home.
#[derive(Debug, Clone)]
pub struct Msb {
    /// The path of the program.
    pub program: PathBuf,
    /// The program's `MSB_HOME`.
    pub home: PathBuf,
    /// The program's `MSB_KERNEL`.
    pub kernel: PathBuf,
}

/// The files of an image in a store.
#[derive(Debug)]
pub struct Artifacts {
    /// The metadata of all layers, merged.
    pub fsmeta: PathBuf,
    /// The VMDK, which describes metadata and layers as one disk.
    pub vmdk: PathBuf,
    /// The layers, base first.
    pub layers: Vec<PathBuf>,
}

impl Msb {
    /// Returns a command of msb with these arguments. No process in the background is started: one would change the
    /// home between two commands, and keep its disk from being unmounted.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env("MSB_HOME", &self.home)
            .env("MSB_KERNEL", &self.kernel)
            .env("MSB_MAINTENANCE", "off")
            // Tests that begin it read the plain forms of layers.
            .env("MSB_PACK", "never")
            .args(arguments);
        command
    }

    /// Loads the OCI layout at `layout` under `name`.
    ///
    /// # Errors
    /// If `msb load` fails.
    pub fn load(&self, layout: &Path, name: &str) -> Result<()> {
        succeed(self.command(&["load", "-q", "-t", name]).arg(layout)).map(drop)
    }

    /// Returns the files of the image of this name.
    ///
    /// # Errors
    /// If `msb image inspect` fails, or does not name the files.
    pub fn inspect(&self, name: &str) -> Result<Artifacts> {
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
