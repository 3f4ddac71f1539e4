//! Programs of the image.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

const PATHS: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// Returns the path of a program. `None` if the image does not have it.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    PATHS
        .iter()
        .map(|path| Path::new(path).join(name))
        .find(|path| path.exists())
}

/// Returns the reason to leave a workload out, if the image lacks a program. `None` if it has it.
pub(crate) fn lacks(name: &str) -> Option<String> {
    path(name)
        .is_none()
        .then(|| format!("the image does not contain {name}"))
}

/// Returns a command with only these variables in its environment.
pub(crate) fn command(name: &str, home: &Path) -> Command {
    let mut command = Command::new(path(name).unwrap_or_else(|| name.into()));
    command
        .env_clear()
        .env("PATH", PATHS.join(":"))
        .env("HOME", home)
        .stdin(Stdio::null());
    command
}

/// Runs a command, which must succeed. Returns its output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or_default().to_owned();
        bail!(
            "{} ended with {}: {last}",
            command.get_program().display(),
            output.status
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
