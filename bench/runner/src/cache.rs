use std::fs;
use std::io::{BufRead, Write};

use anyhow::{Context as _, Result, ensure};

use crate::message::Line;

/// The connection to the caller: its output lines, and its answers.
pub(crate) struct Caller<'a> {
    pub(crate) output: &'a mut dyn Write,
    pub(crate) input: &'a mut dyn BufRead,
}

impl Caller<'_> {
    pub(crate) fn send(&mut self, line: &Line) -> Result<()> {
        serde_json::to_writer(&mut *self.output, line)?;
        self.output.write_all(b"\n")?;
        Ok(self.output.flush()?)
    }

    /// Drops this kernel's caches, and the host's if `ask_host` is true.
    pub(crate) fn drop_caches(&mut self, ask_host: bool) -> Result<()> {
        rustix::fs::sync();
        fs::write("/proc/sys/vm/drop_caches", "3").context("cannot drop the caches")?;
        if ask_host {
            self.send(&Line::DropHostCaches)?;
            let mut answer = String::new();
            let count = self.input.read_line(&mut answer)?;
            ensure!(count > 0, "the host does not answer");
        }
        Ok(())
    }
}
