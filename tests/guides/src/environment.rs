use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Result, anyhow};
use test_fixtures::{build, images, kernel, paths, tools};

/// The msb, kernel and image that guides run with. What no variable names is built or made the first time.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The program, from `MSB_TEST_MSB`; otherwise the one that tests run.
    pub msb: PathBuf,
    /// A directory for the homes of the guides.
    pub home: PathBuf,
    /// The guest kernel, from `MSB_KERNEL`; otherwise msb's own.
    pub kernel: PathBuf,
    /// An OCI layout of a Debian image with Python, from `MSB_TEST_IMAGE`; otherwise that of the tests.
    pub image: PathBuf,
    /// The VMM's name, from `MSB_VMM`; `qemu` if unset.
    pub vmm: OsString,
}

impl Environment {
    /// Prepares the environment, once for all tests of a process.
    ///
    /// # Errors
    /// If a variable names a relative path or one that does not exist, or something cannot be built or made.
    pub fn prepare() -> Result<Self> {
        static PREPARED: OnceLock<std::result::Result<Environment, String>> = OnceLock::new();
        let prepared = PREPARED.get_or_init(|| Self::new().map_err(|error| format!("{error:#}")));
        prepared.clone().map_err(|error| anyhow!(error))
    }

    fn new() -> Result<Self> {
        // Wrong variables are reported before msb is built.
        let (msb, image) = ("MSB_TEST_MSB", "MSB_TEST_IMAGE");
        let (msb, image) = (paths::in_variable(msb)?, paths::in_variable(image)?);
        let kernel = kernel::guest()?;
        tools::install()?;
        Ok(Self {
            msb: msb.map_or_else(build::msb, Ok)?,
            home: paths::scratch("guides")?,
            kernel,
            image: image.map_or_else(images::demo, Ok)?,
            vmm: std::env::var_os("MSB_VMM").unwrap_or_else(|| "qemu".into()),
        })
    }
}
