use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use test_fixtures::command::{shown, step};
use test_fixtures::{images, kernel, paths};

use super::product;

/// The variable with the path of the msb under test.
const MSB: &str = "MSB_TEST_MSB";

/// The variable with the path of the guest kernel.
const KERNEL: &str = "MSB_KERNEL";

/// The files that the steps need, after every test was built.
pub(super) struct Ready {
    pub(super) msb: PathBuf,
    kernel: PathBuf,
}

impl Ready {
    /// Builds and fetches everything that is missing.
    pub(super) fn make() -> Result<Self> {
        step("build every test, and the msb that they run; clippy is the compiler");
        shown(&mut product::build())?;
        images::all()?;
        Ok(Self {
            msb: paths::root().join("target/debug/msb"),
            kernel: kernel::guest()?,
        })
    }

    /// Takes the files that [`Ready::prepare`] has passed to this process.
    pub(super) fn passed() -> Result<Self> {
        let path = |name| paths::in_variable(name)?.with_context(|| format!("{name} is unset"));
        Ok(Self {
            msb: path(MSB)?,
            kernel: path(KERNEL)?,
        })
    }

    /// Passes the files to a test or a step, which then does not make them.
    pub(super) fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env(MSB, &self.msb).env(KERNEL, &self.kernel)
    }
}
