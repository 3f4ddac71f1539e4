use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};

/// Says what comes next.
pub(crate) fn step(text: &str) {
    eprintln!("==> {text}");
}

/// Runs a command whose output the user sees.
pub(crate) fn shown(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} gave {status}");
    Ok(())
}

/// Runs a command that must succeed; its output is shown only when it does not.
pub(crate) fn quiet(command: &mut Command) -> Result<Output> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} gave {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output)
}
