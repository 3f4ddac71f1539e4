use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

use anyhow::{Context as _, Result, ensure};

/// A process that is no part of msb, and leads a group, as a service does. It ends with this value.
pub(super) struct Stranger(Child);

impl Stranger {
    pub(super) fn start() -> Result<Self> {
        let started = Command::new("sleep").arg("600").process_group(0).spawn();
        Ok(Self(started.context("cannot start sleep")?))
    }

    pub(super) fn number(&self) -> u32 {
        self.0.id()
    }

    pub(super) fn expect_alive(&mut self) -> Result<()> {
        let ended = self.0.try_wait()?;
        ensure!(ended.is_none(), "the stranger's process ended: {ended:?}");
        Ok(())
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        // If it was killed already, another check reports that.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
