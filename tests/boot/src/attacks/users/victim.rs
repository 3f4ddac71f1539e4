use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use test_support::process::with_open_umask;
use test_support::{TestEnv, describe, succeed};

const NAME: &str = "attacked";
const VOLUME: &str = "attacked";

/// A running sandbox, in a home that may hold other sandboxes.
pub(super) struct Victim<'a> {
    env: &'a TestEnv,
    home: PathBuf,
}

impl<'a> Victim<'a> {
    pub(super) fn start(env: &'a TestEnv) -> Result<Self> {
        let victim = Self {
            env,
            home: env.home().to_owned(),
        };
        let line = || {
            let _ = victim.remove();
            let mut line = env.machine_command("run");
            line.args(["-d", "--name", NAME, "--cpus", "1", "--pull", "never"]);
            line.args(["--memory", &format!("{}M", env.memory_mib())]);
            line.args(["-v", &format!("{VOLUME}:/data")]);
            with_open_umask(line.args(["--no-command", env.image()]))
        };
        let started = env.retried(line, &[])?;
        ensure!(started.status.success(), "{}", describe(&started));
        // A job's files are made by the VMM process.
        succeed(&mut victim.msb(&["exec", "-d", NAME, "sleep", "600"]))?;
        Ok(victim)
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    pub(super) fn msb(&self, words: &[&str]) -> Command {
        let mut line = self.env.msb();
        line.args(words);
        line
    }

    /// Returns the sandbox's own directory.
    pub(super) fn directory(&self) -> Result<PathBuf> {
        let inspected = succeed(&mut self.msb(&["inspect", NAME]))?;
        let json: Value = serde_json::from_slice(&inspected.stdout)?;
        Ok(json[0]["directory"].as_str().context("none")?.into())
    }

    /// Returns the home and all paths in it.
    pub(super) fn paths(&self) -> Result<Vec<PathBuf>> {
        let mut paths = vec![self.home.clone()];
        let mut looked_at = 0;
        while let Some(path) = paths.get(looked_at) {
            // A path removed in the meantime does not count.
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

    pub(super) fn kill(&self) -> Result<()> {
        succeed(&mut self.msb(&["kill", NAME])).map(drop)
    }

    pub(super) fn remove(&self) -> Result<()> {
        succeed(&mut self.msb(&["rm", "-f", NAME]))?;
        succeed(&mut self.msb(&["volume", "rm", "-f", VOLUME])).map(drop)
    }
}
