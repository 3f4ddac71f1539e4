use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use test_support::{TestEnv, schema, spawn};

/// `msb asks --format json`, which listens.
pub(super) struct Listener {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Listener {
    /// Returns once the listener of a sandbox was told the questions that waited.
    pub(super) fn new(env: &TestEnv, name: &str) -> Result<Self> {
        let mut child = spawn(env.msb().args(["asks", "--format", "json", name]))?;
        let output = child.stdout.take().context("no pipe")?;
        let mut listener = Self {
            child,
            lines: BufReader::new(output),
        };
        let event = listener.next()?;
        ensure!(event["event"] == "listening", "{event}");
        Ok(listener)
    }

    /// Waits for the next event.
    pub(super) fn next(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the listener has ended");
        schema::judge("asks", &line)?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Waits until a process asks for a path. Returns the question's number.
    pub(super) fn asked(&mut self, path: &str) -> Result<u64> {
        loop {
            let event = self.next()?;
            if event["event"] == "asked" && event["subject"] == path {
                return event["id"].as_u64().context("no number");
            }
        }
    }

    pub(super) fn end(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}
