use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::msb::{Msb, text, vmm_words};

/// A sandbox that runs while this value lives.
pub(super) struct Sandbox {
    msb: Msb,
    name: String,
    /// Where its files are: every process of its machine has this among its arguments.
    pub(super) directory: PathBuf,
    /// Whether the guest's memory is the VMM process's own.
    pub(super) vmm_has_memory: bool,
}

impl Sandbox {
    pub(super) fn start(msb: &Msb, image: &str, vmm: &str) -> Result<Self> {
        let name = format!("bench-exec-{}", std::process::id());
        let mut sandbox = Self {
            msb: msb.clone(),
            name: name.clone(),
            directory: PathBuf::new(),
            vmm_has_memory: vmm_words(vmm).starts_with("libkrun"),
        };
        let options = ["--cpus", "1", "--memory", "512m", "--vmm", vmm];
        let mut run = msb.command();
        run.args(["run", "--quiet", "--detach", "--name", &name])
            .args(options)
            .args([image, "sleep", "infinity"]);
        text(&mut run)?;
        let inspected: Value = serde_json::from_str(&msb.output(["inspect", &name])?)?;
        let directory = inspected[0]["directory"].as_str();
        sandbox.directory = directory.context("inspect names no directory")?.into();
        Ok(sandbox)
    }

    /// `msb exec` of a line for the guest's shell, its three streams piped.
    pub(super) fn shell(&self, line: &str) -> Command {
        let mut command = self.msb.command();
        command
            .args(["exec", "--interactive", &self.name, "sh", "-c", line])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command
    }

    /// What a line for the guest's shell prints.
    pub(super) fn output(&self, line: &str) -> Result<String> {
        text(&mut self.shell(line))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // What cannot be removed shows in `msb ps`.
        let _ = self.msb.output(["rm", "--force", &self.name]);
    }
}
