//! The RPM package: its content by the word of rpm, and an installation into an empty root.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use test_fixtures::command::quiet;
use test_fixtures::paths;

use super::Files;

/// Installs the package, without the packages that it needs.
pub(super) fn check(files: &Files<'_>) -> Result<()> {
    let package = files.rpm();
    let listed = rpm(&["--query", "--package", "--list"], &package)?;
    for path in [
        "/usr/bin/msb",
        "/usr/lib/msb/vmlinux",
        "/usr/lib/msb/vmlinux-filesystems",
        "/usr/share/man/man1/msb-run.1.gz",
        "/usr/share/zsh/site-functions/_msb",
    ] {
        ensure!(
            listed.lines().any(|line| line == path),
            "the package does not list {path}:\n{listed}"
        );
    }
    let weak = rpm(&["--query", "--package", "--recommends"], &package)?;
    ensure!(
        weak.contains("qemu"),
        "the package recommends {weak:?}, and not QEMU"
    );
    // Digests of the header and of the payload.
    rpm(&["--checksig", "--nosignature"], &package)?;
    let root = paths::scratch("dist-root-rpm")?;
    let option = format!("--root={}", root.display());
    // The packages that it needs are not at hand here.
    rpm(&[&option, "--install", "--nodeps", "--noscripts"], &package)?;
    rpm(&[&option, "--verify", "--nodeps"], Path::new("msb"))?;
    let program = root.join("usr/bin/msb");
    let mut doctor = Command::new(&program);
    doctor
        .args(["doctor", "--format", "json"])
        .env_remove("MSB_KERNEL")
        .env("MSB_HOME", root.join("home"));
    let findings = String::from_utf8(quiet(&mut doctor)?.stdout)?;
    let kernel = format!("from {}", root.join("usr/lib/msb/vmlinux").display());
    ensure!(
        findings.contains(&kernel),
        "the installed program does not find the kernel of the package: {findings}"
    );
    rpm(&[&option, "--erase", "--nodeps"], Path::new("msb"))?;
    ensure!(!program.exists(), "rpm leaves {}", program.display());
    Ok(())
}

/// Runs rpm with a package, which is a file or the name of an installed one.
fn rpm(arguments: &[&str], package: &Path) -> Result<String> {
    let output = quiet(Command::new("rpm").args(arguments).arg(package))?;
    Ok(String::from_utf8(output.stdout)?)
}
