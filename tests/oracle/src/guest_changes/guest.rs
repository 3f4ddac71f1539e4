//! The sandbox whose files a program changes.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use test_support::{TestEnv, describe, expect_code, succeed};

use super::image;

/// The sandbox's name.
pub(super) const NAME: &str = "guest-changes";
/// A time after all that a guest gives a file, in seconds since the epoch: `SOURCE_DATE_EPOCH` makes
/// commits comparable, and replaces no time.
const LATE_S: &str = "4102444800";

/// A sandbox. Its main command reads what to do from standard input, and ends.
pub(super) struct Guest<'a> {
    env: &'a TestEnv,
}

/// The number of changes of each kind.
type Made = BTreeMap<String, u64>;

impl<'a> Guest<'a> {
    pub(super) const fn new(env: &'a TestEnv) -> Self {
        Self { env }
    }

    /// Creates the sandbox and changes its files. Returns the tree below [`image::CASES`] as the
    /// guest sees it afterwards, and what was changed.
    pub(super) fn create(&self, input: &str) -> Result<(String, Made)> {
        let line = || {
            // An earlier start may have failed.
            let _ = self.msb(&["rm", "-f", NAME]).output();
            self.run_line(&["--name", NAME], image::NAME)
        };
        changed(&self.env.retried(line, input.as_bytes())?)
    }

    /// Starts the sandbox again and changes its files once more.
    pub(super) fn start(&self, input: &str) -> Result<(String, Made)> {
        let line = || {
            let mut line = self.env.machine_command("start");
            line.args(["-a", "-i", NAME]);
            line
        };
        changed(&self.env.retried(line, input.as_bytes())?)
    }

    /// Returns the tree that another sandbox sees, one of `image` in which nothing changes.
    pub(super) fn run(&self, image: &str) -> Result<String> {
        let line = || self.run_line(&["--rm"], image);
        Ok(changed(&self.env.retried(line, b"0 0 0\n")?)?.0)
    }

    /// Commits the sandbox. Returns the image's digest.
    pub(super) fn commit(&self, name: &str) -> Result<String> {
        let mut commit = self.msb(&["commit", NAME, name]);
        let output = succeed(commit.env("SOURCE_DATE_EPOCH", LATE_S))?;
        let mut diff = self.msb(&["diff", "--format", "json", name, NAME]);
        let mut changes: Vec<Value> = serde_json::from_slice(&succeed(&mut diff)?.stdout)?;
        // A layer has no sockets.
        changes.retain(|change| change["new"]["type"] != "socket");
        ensure!(changes.is_empty(), "msb diff {name} {NAME}: {changes:?}");
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    pub(super) fn remove_images(&self, names: &[&str]) -> Result<()> {
        let words = [&["rmi"], names].concat();
        succeed(&mut self.msb(&words)).map(drop)
    }

    /// Removes the sandbox and images of it.
    pub(super) fn remove(&self, images: &[&str]) -> Result<()> {
        succeed(&mut self.msb(&["rm", NAME]))?;
        self.remove_images(images)
    }

    fn run_line(&self, options: &[&str], image: &str) -> Command {
        let memory = format!("{}M", self.env.memory_mib());
        let mut line = self.env.machine_command("run");
        line.args(["--cpus", "1", "--memory", &memory, "--pull", "never"]);
        line.args(["-i", "--network", "none"]);
        line.args(options).arg(image);
        line
    }

    fn msb(&self, words: &[&str]) -> Command {
        self.env.home_msb().command(words)
    }
}

/// Returns the lines of a dump at and below [`image::CASES`]. Sockets are left out: a layer has none.
pub(super) fn shown(dump: &str) -> String {
    let is_shown = |line: &&str| {
        let mut fields = line.split(' ');
        let path = fields
            .next()
            .and_then(|path| path.strip_prefix(image::CASES));
        path.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            && fields.next() != Some("s")
    };
    let lines = dump.lines().filter(is_shown);
    lines.map(|line| format!("{line}\n")).collect()
}

/// Reads what the program printed.
fn changed(output: &Output) -> Result<(String, Made)> {
    expect_code(output, 0)?;
    let stderr = std::str::from_utf8(&output.stderr)?;
    let made = stderr.lines().map(|line| {
        let (kind, number) = line.split_once(' ').with_context(|| describe(output))?;
        Ok((kind.to_owned(), number.trim().parse()?))
    });
    let made = made.collect::<Result<_>>()?;
    Ok((shown(std::str::from_utf8(&output.stdout)?), made))
}
