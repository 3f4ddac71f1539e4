use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// The msb that is measured: the program that runs, as its users run it.
#[derive(Debug, Clone)]
pub struct Msb {
    program: PathBuf,
    home: PathBuf,
}

impl Msb {
    /// This program, with what lies in `home`.
    ///
    /// # Errors
    /// The program's own file cannot be found.
    pub fn this(home: &Path) -> Result<Self> {
        Ok(Self {
            program: std::env::current_exe().context("this program cannot be found")?,
            home: home.to_owned(),
        })
    }

    /// The same, with an empty home of its own.
    pub(crate) fn in_home(&self, home: &Path) -> Self {
        Self {
            program: self.program.clone(),
            home: home.to_owned(),
        }
    }

    /// Its command line, without arguments yet.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // What times a benchmark is not timed itself.
        command
            .env("MSB_HOME", &self.home)
            .env_remove("MSB_TIMELINE");
        command
    }

    /// What it prints with these arguments; it must succeed.
    pub(crate) fn output<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Result<String> {
        text(self.command().args(arguments))
    }
}

/// What a command prints; it must succeed.
pub(crate) fn text(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} gave {}",
        output.status
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// The VMM that a choice comes to on this host, and how it runs guests.
pub(crate) fn vmm_words(choice: &str) -> &'static str {
    let virtualised = msb_vmm::hardware_virtualisation().is_ok();
    match choice {
        "qemu" if virtualised => "QEMU, with KVM",
        "qemu" => "QEMU, emulated",
        "auto" if !virtualised => "QEMU, emulated",
        _ => "libkrun, with KVM",
    }
}
