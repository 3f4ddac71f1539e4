use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// The msb that is measured: a built program that is run as its users run it.
#[derive(Debug, Clone)]
pub(crate) struct Msb {
    program: PathBuf,
    home: PathBuf,
    /// The guest kernel; `None` leaves the choice to msb.
    kernel: Option<PathBuf>,
}

impl Msb {
    /// Returns `program` or the msb beside this program, with the given home or `~/.msb`.
    ///
    /// # Errors
    /// If the program does not exist, or the user has no home directory.
    pub(crate) fn find(program: Option<PathBuf>, home: Option<PathBuf>) -> Result<Self> {
        let program = match program {
            Some(program) => program,
            None => this_program()?.with_file_name("msb"),
        };
        ensure!(
            program.is_file(),
            "cannot find {}; name the msb to measure with --msb",
            program.display()
        );
        let default = || std::env::home_dir().map(|home| home.join(".msb"));
        Ok(Self {
            program,
            home: home
                .or_else(default)
                .context("this user has no home directory; set MSB_HOME to a directory for msb")?,
            kernel: None,
        })
    }

    /// Returns the same program with another home.
    pub(crate) fn in_home(&self, home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            ..self.clone()
        }
    }

    /// Returns the same program with another guest kernel.
    pub(crate) fn with_kernel(&self, kernel: &Path) -> Self {
        Self {
            kernel: Some(kernel.to_owned()),
            ..self.clone()
        }
    }

    /// Returns the directory with images and sandboxes.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Returns a command for the program, without arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // The benchmark does its own timing.
        command
            .env("MSB_HOME", &self.home)
            .env_remove("MSB_TIMELINE");
        if let Some(kernel) = &self.kernel {
            command.env("MSB_KERNEL", kernel);
        }
        command
    }

    /// Returns the program's output for these arguments. It must succeed.
    pub(crate) fn output<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Result<String> {
        text(self.command().args(arguments))
    }
}

/// Returns the path of this program, which runs itself for its measurements.
///
/// # Errors
/// If the program's own file cannot be found.
pub(crate) fn this_program() -> Result<PathBuf> {
    std::env::current_exe().context("cannot find the path of this program")
}

/// Returns a command's output. It must succeed.
pub(crate) fn text(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", words(command)))?;
    ensure!(
        output.status.success(),
        "{} ended with {}; see its message above",
        words(command),
        output.status
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the name of a command's program and its first argument, as `msb run`.
pub(crate) fn words(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let first = command.get_args().next().unwrap_or_default();
    let words = format!("{} {}", program.display(), first.display());
    words.trim_end().to_owned()
}

/// Describes the VMM that `choice` selects on this host, and how it runs guests.
pub(crate) fn vmm_words(choice: &str) -> &'static str {
    let virtualised = msb_vmm::hardware_virtualisation().is_ok();
    match choice {
        "qemu" if virtualised => "QEMU, with KVM",
        "qemu" => "QEMU, emulated",
        "auto" if !virtualised => "QEMU, emulated",
        _ => "libkrun, with KVM",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_named_without_all_its_arguments() {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg("exit 3").env("A", "b");
        let failed = text(&mut shell).unwrap_err().to_string();
        assert_eq!(
            failed,
            "sh -c ended with exit status: 3; see its message above"
        );
        assert_eq!(words(&Command::new("true")), "true");
    }
}
