use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Result, ensure};

use super::registry::CountingRegistry;
use super::{Ground, told};
use crate::oracle::succeed;

/// The name of the image that was there before.
pub(super) const BEFORE: &str = "before:1";

/// A command that meets a disk that fails.
pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) arguments: Vec<String>,
    /// How much space it needs at most.
    pub(super) needs_kib: u64,
    /// What it says when the disk did all it should and it still cannot go on.
    beyond: Option<&'static str>,
}

impl Stage {
    fn new(name: &'static str, needs_kib: u64, arguments: &[&str]) -> Self {
        Self {
            name,
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
            needs_kib,
            beyond: None,
        }
    }

    /// Pulls an image of three layers.
    pub(super) fn pull(registry: &CountingRegistry) -> Self {
        let name = registry.name("overlap-0");
        Self::new("pull", 7_000, &["pull", "-q", "--plain-http", &name])
    }

    /// Loads the small image.
    pub(super) fn load(ground: &Ground<'_>) -> Self {
        let small = ground.small.display().to_string();
        Self::new("load", 45_000, &["load", "-q", "-t", "after:1", &small])
    }

    /// Creates a sandbox, for a VMM that cannot start here.
    pub(super) fn create() -> Self {
        let arguments = ["run", "--rm", "-q", "--vmm", "krun", BEFORE, "true"];
        Self {
            beyond: Some("cannot use the VMM krun"),
            ..Self::new("create", 600, &arguments)
        }
    }

    /// Creates a sandbox and starts it, and does not wait for its answer.
    pub(super) fn run() -> Self {
        let mut arguments = vec!["run", "--rm", "-q", "--vmm", "qemu"];
        arguments.extend(["--boot-timeout", "1", BEFORE, "true"]);
        Self {
            beyond: Some("did not answer within"),
            ..Self::new("run", 50_000, &arguments)
        }
    }

    /// Removes the image that was there before, and what it alone needs.
    pub(super) fn remove() -> Self {
        Self::new("remove", 0, &["image", "rm", BEFORE])
    }

    pub(super) fn went_on(&self, output: &Output) -> bool {
        let beyond = self.beyond.filter(|text| told(output).contains(text));
        output.status.success() || beyond.is_some()
    }
}

/// One line, exit code 125, that names the reason and the place.
pub(super) fn expect_refusal(output: &Output, reason: &str, home: &Path) -> Result<()> {
    let text = told(output);
    ensure!(output.status.code() == Some(125), "{text}");
    ensure!(text.contains(reason), "does not say '{reason}': {text}");
    let place = home.display().to_string();
    ensure!(text.contains(&place), "does not name {place}: {text}");
    Ok(())
}

/// An image that is there before the disk fails: the generated ones would share its layers.
pub(super) fn layout(ground: &Ground<'_>) -> Result<PathBuf> {
    let layout = ground.work.join("before");
    if layout.exists() {
        return Ok(layout);
    }
    let path = layout.display();
    let image = format!("{path}:latest");
    let tar = ground.work.join("before.tar");
    let mut builder = tar::Builder::new(fs::File::create(&tar)?);
    let mut header = tar::Header::new_ustar();
    header.set_size(5);
    header.set_mode(0o644);
    builder.append_data(&mut header, "file", &b"bytes"[..])?;
    builder.finish()?;
    let umoci = |arguments: &[&str]| {
        let mut command = Command::new("umoci");
        command.args(arguments);
        succeed(&mut command).map(drop)
    };
    umoci(&["init", "--layout", &path.to_string()])?;
    umoci(&["new", "--image", &image])?;
    umoci(&[
        "raw",
        "add-layer",
        "--image",
        &image,
        &tar.display().to_string(),
    ])?;
    umoci(&["config", "--image", &image, "--config.cmd", "true"])?;
    Ok(layout)
}
