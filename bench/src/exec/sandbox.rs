use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// A sandbox that runs while this value lives.
pub(super) struct Sandbox {
    msb: PathBuf,
    name: String,
    /// Where its files are: every process of its machine has this among its arguments.
    pub(super) directory: PathBuf,
}

impl Sandbox {
    pub(super) fn start(msb: &Path, image: &str, vmm: &str) -> Result<Self> {
        let name = format!("bench-exec-{}", std::process::id());
        let mut sandbox = Self {
            msb: msb.to_owned(),
            name: name.clone(),
            directory: PathBuf::new(),
        };
        let options = ["--cpus", "1", "--memory", "512m", "--vmm", vmm];
        let mut run = Command::new(msb);
        run.args(["run", "--quiet", "--detach", "--name", &name])
            .args(options)
            .args([image, "sleep", "infinity"]);
        text(&mut run)?;
        let inspected: Value =
            serde_json::from_str(&text(Command::new(msb).args(["inspect", &sandbox.name]))?)?;
        let directory = inspected[0]["directory"].as_str();
        sandbox.directory = directory.context("inspect names no directory")?.into();
        Ok(sandbox)
    }

    /// `msb exec` of a line for the guest's shell, its three streams piped.
    pub(super) fn shell(&self, line: &str) -> Command {
        let mut command = Command::new(&self.msb);
        command
            .args(["exec", "--interactive", &self.name, "sh", "-c", line])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command
    }

    /// What a line for the guest's shell prints.
    pub(super) fn output(&self, line: &str) -> Result<String> {
        text(self.shell(line).stdin(Stdio::null()))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // What cannot be removed shows in `msb ps`.
        let _ = Command::new(&self.msb)
            .args(["rm", "--force", &self.name])
            .stdout(Stdio::null())
            .status();
    }
}

fn text(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(
        output.status.success(),
        "{command:?} gave {}",
        output.status
    );
    Ok(String::from_utf8(output.stdout)?)
}
