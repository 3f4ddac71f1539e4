//! A root directory with a freshly installed Debian, and commands in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::command::{quiet, step};
use test_fixtures::{lock, paths};

/// The user who installs msb: an ordinary one.
pub(super) const USER: &str = "visitor";
/// The home of this user.
pub(super) const HOME: &str = "/home/visitor";
/// The time limit of a command. The longest one installs QEMU from the distribution's packages.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(900);

/// An installed root. It is removed with its content when it is dropped.
pub(super) struct Root {
    directory: PathBuf,
}

impl Root {
    /// Installs a suite of Debian, without anything that it does not need.
    pub(super) fn debian(suite: &str) -> Result<Self> {
        let directory = paths::scratch(&format!("dist-root-{suite}"))?;
        quiet(
            Command::new("cp")
                .args(["--archive", "--reflink=auto", "--no-target-directory"])
                .arg(base(suite)?)
                .arg(&directory),
        )?;
        let root = Self { directory };
        root.run("useradd --create-home --shell /bin/bash visitor")?;
        Ok(root)
    }

    /// Copies a file of the host into the user's home.
    pub(super) fn give(&self, file: &Path) -> Result<()> {
        let name = file.file_name().context("a file has a name")?;
        let copy = self.path(HOME).join(name);
        let mut cp = Command::new("cp");
        quiet(
            cp.args(["--recursive", "--no-target-directory"])
                .arg(file)
                .arg(&copy),
        )?;
        self.run(&format!("chown --recursive {USER}: {HOME}"))
            .map(drop)
    }

    /// Returns the path of the host at which a path of the root lies.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.directory.join(path.trim_start_matches('/'))
    }

    /// Runs a line of shell as root, and returns what it prints.
    pub(super) fn run(&self, line: &str) -> Result<String> {
        printed(line, &self.output(line, "/root", &[])?)
    }

    /// Runs a line of shell as the user, and returns what it prints.
    pub(super) fn run_as_user(&self, line: &str) -> Result<String> {
        printed(line, &self.output_as_user(line)?)
    }

    /// Runs a line of shell as the user; it may fail.
    pub(super) fn output_as_user(&self, line: &str) -> Result<Output> {
        let user = ["setpriv", "--reuid", USER, "--regid", USER, "--init-groups"];
        self.output(line, HOME, &user)
    }

    fn output(&self, line: &str, home: &str, user: &[&str]) -> Result<Output> {
        let begun = Instant::now();
        let directory = self.directory.display();
        let mut command = Command::new("timeout");
        command
            .arg(COMMAND_TIMEOUT.as_secs().to_string())
            // Processes that outlive the command end with the namespace.
            .args(["unshare", "--mount", "--pid", "--fork", "--kill-child"])
            .arg(format!("--mount-proc={directory}/proc"))
            .arg("chroot")
            .arg(&self.directory)
            .args(["/usr/bin/env", "-i"])
            .args(["LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"])
            .arg(format!("HOME={home}"))
            .arg("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .args(user)
            .args(["/bin/sh", "-euc", &format!("cd {home}; {line}")]);
        let output = command.output().context("cannot enter the root")?;
        step(&format!("{line} ({} s)", begun.elapsed().as_secs()));
        Ok(output)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // What cannot be removed is removed before the next run.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn printed(line: &str, output: &Output) -> Result<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "'{line}' gave {}\n{text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(text.into_owned())
}

/// Returns the directory of a suite that is installed once and then copied.
fn base(suite: &str) -> Result<PathBuf> {
    let _lock = lock::hold(&format!("dist-root-{suite}"))?;
    let kept = paths::kept("dist/roots")?.join(suite);
    if !kept.is_dir() {
        step(&format!("install the smallest Debian {suite}"));
        let unfinished = paths::scratch(&format!("dist-debootstrap-{suite}"))?;
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.args(["--variant=minbase", suite]);
        quiet(debootstrap.arg(&unfinished))?;
        fs::copy("/etc/resolv.conf", unfinished.join("etc/resolv.conf"))?;
        fs::rename(&unfinished, &kept)?;
    }
    Ok(kept)
}
