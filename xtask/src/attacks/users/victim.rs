use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::checks::{Bed, describe};

const NAME: &str = "attacked";

/// A sandbox that runs, in a home that may hold others.
pub(super) struct Victim<'a> {
    bed: &'a Bed,
    home: PathBuf,
}

impl<'a> Victim<'a> {
    pub(super) fn start(bed: &'a Bed) -> Result<Self> {
        let home = std::env::var_os("MSB_HOME").context("MSB_HOME is not set")?;
        let victim = Self {
            bed,
            home: std::path::absolute(home)?,
        };
        let line = || {
            let _ = victim.remove();
            let mut line = bed.machine_command("run");
            line.args(["-d", "--name", NAME, "--cpus", "1", "--pull", "never"]);
            line.args(["--memory", &format!("{}M", bed.memory_mib)]);
            line.args(["--no-command", &bed.image]);
            line
        };
        let started = bed.retried(line, &[])?;
        ensure!(started.status.success(), "{}", describe(&started));
        Ok(victim)
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// The home, and everything in it.
    pub(super) fn paths(&self) -> Result<Vec<PathBuf>> {
        let mut paths = vec![self.home.clone()];
        let mut looked_at = 0;
        while let Some(path) = paths.get(looked_at) {
            // One that goes meanwhile is none.
            if fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
                for entry in fs::read_dir(path.clone())? {
                    paths.push(entry?.path());
                }
            }
            looked_at += 1;
        }
        ensure!(paths.len() > 20, "a home with {} paths alone", paths.len());
        Ok(paths)
    }

    pub(super) fn remove(&self) -> Result<()> {
        let removed = std::process::Command::new(&self.bed.msb)
            .args(["rm", "-f", NAME])
            .output()?;
        ensure!(removed.status.success(), "{}", describe(&removed));
        Ok(())
    }
}
