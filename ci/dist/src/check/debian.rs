//! Debian: the archive as an ordinary user, then the package.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use test_fixtures::images;

use super::Files;
use super::root::{HOME, Root};
use crate::content::SUMS;

/// The command line of a user whose `PATH` has the directory of the archive's programs.
const WITH_PATH: &str = "PATH=$HOME/.local/bin:$PATH;";
/// The name that the image gets.
const IMAGE: &str = "bare:local";

/// Installs the release in a suite of Debian in both ways. Sandboxes run with these variables.
pub(super) fn check(files: &Files<'_>, suite: &str, variables: &str) -> Result<()> {
    let root = Root::debian(suite)?;
    let image = images::bare()?;
    for name in [&files.archive_name(), SUMS, "install.sh"] {
        root.give(&files.directory.join(name))?;
    }
    root.give(&files.deb())?;
    root.give(&image)?;
    let image = image.file_name().context("an image has a name")?;
    let image = image.to_string_lossy();
    root.run("apt-get update --quiet=2")?;
    recommends_qemu(&root, files)?;
    archive(&root, files).context("with install.sh")?;
    let with_path = format!("{WITH_PATH} {variables}");
    sandbox(&root, &with_path, &image, &format!("{HOME}/.local"))?;
    uninstall(&root)?;
    package(&root, files).context("with apt")?;
    sandbox(&root, variables, &image, "/usr")?;
    root.run("apt-get remove --yes --quiet=2 msb")?;
    let left = root.run("ls -d /usr/bin/msb* /usr/lib/msb /usr/share/*/msb 2>&1 || :")?;
    ensure!(
        !left.lines().any(|line| line.starts_with("/usr/")),
        "apt leaves {left}"
    );
    Ok(())
}

/// Checks that apt installs QEMU with the package where a user has not switched that off.
fn recommends_qemu(root: &Root, files: &Files<'_>) -> Result<()> {
    let name = crate::deb::file_name(files.release);
    let plan = root.run(&format!(
        "apt-get install --simulate --option APT::Install-Recommends=true {HOME}/{name}"
    ))?;
    ensure!(
        plan.contains("\nInst qemu-system-x86 "),
        "apt does not plan to install QEMU:\n{plan}"
    );
    Ok(())
}

/// Installs the archive as an ordinary user, and does what it then advises.
fn archive(root: &Root, files: &Files<'_>) -> Result<()> {
    let name = files.archive_name();
    let advice = root.run_as_user(&format!("sh install.sh {name}"))?;
    ensure!(
        advice.contains("is not in PATH"),
        "the script does not say that its directory is not in PATH:\n{advice}"
    );
    let commands = commands(&advice);
    ensure!(
        commands.iter().any(|line| line.contains("qemu-system-x86")),
        "the script does not say how to install QEMU:\n{advice}"
    );
    for command in commands {
        root.run(&command)?;
    }
    // The second time changes nothing, and there is nothing left to do.
    let again = root.run_as_user(&format!("{WITH_PATH} sh install.sh {name}"))?;
    ensure!(
        again.contains("Try it: msb run") && !again.contains("sudo"),
        "the script still has advice:\n{again}"
    );
    Ok(())
}

/// Returns the commands for root that a text tells a user to run.
fn commands(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    let commands = lines.filter_map(|line| line.strip_prefix("sudo "));
    // A root has no group of KVM if the host has no KVM; apt does not ask.
    let commands = commands.filter(|line| !line.starts_with("usermod"));
    commands
        .map(|line| {
            line.replace(
                "apt-get install",
                "apt-get install --yes --quiet=2 --no-install-recommends",
            )
        })
        .collect()
}

/// Checks the host by msb's word, and boots a first sandbox. `begin` is put before each command.
fn sandbox(root: &Root, begin: &str, image: &str, prefix: &str) -> Result<()> {
    let findings = root.run_as_user(&format!("{begin} msb doctor --format json"))?;
    let findings: Vec<Value> = serde_json::from_str(&findings)?;
    let kernel = findings
        .iter()
        .find(|each| each["subject"] == "guest kernel");
    let kernel = kernel.context("doctor says nothing about the kernel")?;
    let text = kernel["finding"].as_str().unwrap_or_default();
    ensure!(
        kernel["level"] == "good" && text.ends_with(&format!("from {prefix}/lib/msb/vmlinux")),
        "doctor says about the kernel: {kernel}"
    );
    root.run_as_user(&format!("{begin} msb load --tag {IMAGE} {image}"))?;
    let printed = root.run_as_user(&format!(
        "{begin} msb --quiet run --rm {IMAGE} echo 'hello from a sandbox'"
    ))?;
    ensure!(
        printed == "hello from a sandbox\n",
        "the first sandbox prints {printed:?}"
    );
    root.run_as_user(&format!("{begin} msb image rm {IMAGE}"))
        .map(drop)
}

fn uninstall(root: &Root) -> Result<()> {
    let left = root.run_as_user("sh install.sh --uninstall >&2; ls -A .local")?;
    ensure!(left.trim().is_empty(), "the script leaves {left}");
    Ok(())
}

/// Installs the package with apt.
fn package(root: &Root, files: &Files<'_>) -> Result<()> {
    let name = crate::deb::file_name(files.release);
    root.run(&format!(
        "apt-get install --yes --quiet=2 --no-install-recommends {HOME}/{name}"
    ))?;
    for path in [
        "/usr/share/man/man1/msb-run.1.gz",
        "/usr/share/bash-completion/completions/msb",
        "/usr/share/doc/msb/copyright",
        "/usr/bin/msb-bench",
    ] {
        // The smallest Debian keeps all documents.
        ensure!(
            root.path(path).is_file(),
            "the package does not install {path}"
        );
    }
    let bench = root.run_as_user("msb bench --help")?;
    ensure!(bench.contains("Usage"), "msb bench --help prints {bench}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_for_root_are_taken_from_the_advice() {
        let advice =
            "BROKEN vmm qemu\n  sudo apt-get install qemu-system-x86\n  sudo usermod -aG kvm me\n";
        assert_eq!(
            commands(advice),
            ["apt-get install --yes --quiet=2 --no-install-recommends qemu-system-x86"]
        );
    }
}
