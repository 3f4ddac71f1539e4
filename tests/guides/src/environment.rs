use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

/// The msb, kernel and image that guides run with, from the environment of the test.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The program, from `MSB`.
    pub msb: PathBuf,
    /// A directory for the homes of the guides, from `MSB_HOME`.
    pub home: PathBuf,
    /// The guest kernel, from `MSB_KERNEL`.
    pub kernel: PathBuf,
    /// An OCI layout of a Debian image with Python, from `MSB_TEST_IMAGE`.
    pub image: PathBuf,
    /// The VMM's name, from `MSB_VMM`; `qemu` if unset.
    pub vmm: OsString,
}

impl Environment {
    /// Reads the environment.
    ///
    /// # Errors
    /// If a variable is not set, or names a path that does not exist.
    pub fn from_variables() -> Result<Self> {
        Ok(Self {
            msb: existing("MSB")?,
            home: existing("MSB_HOME")?,
            kernel: existing("MSB_KERNEL")?,
            image: existing("MSB_TEST_IMAGE")?,
            vmm: std::env::var_os("MSB_VMM").unwrap_or_else(|| "qemu".into()),
        })
    }
}

fn existing(variable: &str) -> Result<PathBuf> {
    let path = std::env::var_os(variable).with_context(|| {
        format!("{variable} is not set; tests/guides/README.md says what it names")
    })?;
    let path = PathBuf::from(path);
    ensure!(
        path.exists(),
        "{variable} names {}, which does not exist",
        path.display()
    );
    std::path::absolute(&path).with_context(|| format!("cannot resolve {}", path.display()))
}
