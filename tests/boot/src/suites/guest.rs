use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Result, ensure};
use fs_err as fs;

use test_support::TestEnv;

const SANDBOX: &str = "suites";
const VOLUME: &str = "suites";

/// The filesystem in the guest that a suite works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filesystem {
    /// The root: an overlay of the image's EROFS and an ext4.
    Root,
    /// A volume: ext4 alone.
    Volume,
}

impl Filesystem {
    pub(super) const ALL: [Self; 2] = [Self::Root, Self::Volume];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Volume => "ext4",
        }
    }

    /// Returns a directory of the filesystem that suites may use.
    pub(super) fn directory(self) -> &'static str {
        match self {
            Self::Root => "/srv/suite",
            Self::Volume => "/volume/suite",
        }
    }

    pub(super) fn other(self) -> Self {
        match self {
            Self::Root => Self::Volume,
            Self::Volume => Self::Root,
        }
    }
}

/// A running sandbox with a volume at `/volume` and the suite's files at `/suites`.
pub(super) struct Guest<'a> {
    env: &'a TestEnv,
}

impl<'a> Guest<'a> {
    /// Starts the sandbox with the files that `prepare` puts into `/suites`.
    pub(super) fn start(
        env: &'a TestEnv,
        prepare: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Self> {
        let brought: PathBuf = env.work.join("suites");
        fs::create_dir(&brought)?;
        prepare(&brought)?;
        let guest = Self { env };
        let _ = guest.msb(&["rm", "-f", SANDBOX])?;
        let _ = guest.msb(&["volume", "rm", VOLUME])?;
        let memory = format!("{}M", env.memory_mib().max(1024));
        let suites = format!("{}:/suites:ro", brought.display());
        let volume = format!("{VOLUME}:/volume");
        guest.done(&[
            "create",
            "--pull",
            "never",
            "--no-command",
            "--name",
            SANDBOX,
            "--memory",
            &memory,
            "--network",
            "none",
            "-v",
            &volume,
            "-v",
            &suites,
            env.image(),
        ])?;
        let started = env.retried(
            || {
                let mut start = env.machine_command("start");
                start.arg(SANDBOX);
                start
            },
            &[],
        )?;
        ensure!(
            started.status.success(),
            "msb start gave {}: {}",
            started.status,
            String::from_utf8_lossy(&started.stderr)
        );
        for filesystem in Filesystem::ALL {
            guest.sh(&format!("mkdir -p -m 0755 {}", filesystem.directory()))?;
        }
        Ok(guest)
    }

    /// Runs a shell script and returns its output and exit status.
    pub(super) fn tried(&self, script: &str) -> Result<Output> {
        self.msb(&["exec", SANDBOX, "bash", "-c", script])
    }

    /// Runs a shell script that must succeed, and returns its output.
    pub(super) fn sh(&self, script: &str) -> Result<String> {
        let output = self.tried(script)?;
        ensure!(
            output.status.success(),
            "`{script}` gave {}: {}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Removes the sandbox and the volume.
    pub(super) fn remove(self) -> Result<()> {
        self.done(&["rm", "-f", SANDBOX])?;
        self.done(&["volume", "rm", VOLUME])?;
        Ok(())
    }

    fn done(&self, arguments: &[&str]) -> Result<()> {
        let output = self.msb(arguments)?;
        ensure!(
            output.status.success(),
            "msb {} gave {}: {}",
            arguments.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }

    fn msb(&self, arguments: &[&str]) -> Result<Output> {
        Ok(self.env.msb().args(arguments).output()?)
    }
}
