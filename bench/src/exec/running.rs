use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::msb::{Msb, text, vmm_words};
use crate::sandbox::Sandbox;

/// A sandbox that runs until this value is dropped.
pub(super) struct Running {
    sandbox: Sandbox,
    /// The sandbox's directory, which is among the arguments of every process of its machine.
    pub(super) directory: PathBuf,
    /// True if the guest's memory belongs to the VMM process itself.
    pub(super) vmm_has_memory: bool,
}

impl Running {
    pub(super) fn start(msb: &Msb, image: &str, vmm: &str) -> Result<Self> {
        let sandbox = Sandbox::named(msb, "exec");
        let options = ["--cpus", "1", "--memory", "512m", "--vmm", vmm];
        let mut run = msb.command();
        run.args(["run", "--quiet", "--detach", "--name", &sandbox.name])
            .args(options)
            .args([image, "sleep", "infinity"]);
        text(&mut run)?;
        let inspected: Value = serde_json::from_str(&msb.output(["inspect", &sandbox.name])?)?;
        let directory = inspected[0]["directory"].as_str();
        Ok(Self {
            directory: directory.context("msb inspect prints no directory")?.into(),
            vmm_has_memory: vmm_words(vmm).starts_with("libkrun"),
            sandbox,
        })
    }

    /// Returns the name of the sandbox.
    pub(super) fn name(&self) -> &str {
        &self.sandbox.name
    }

    /// Returns `msb exec` of a line for the guest's shell, with its three streams piped.
    pub(super) fn shell(&self, line: &str) -> Command {
        let mut exec = self.sandbox.exec(&["--interactive"]);
        exec.args(["sh", "-c", line])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        exec
    }

    /// Returns the output of a line for the guest's shell.
    pub(super) fn output(&self, line: &str) -> Result<String> {
        text(&mut self.shell(line))
    }
}
