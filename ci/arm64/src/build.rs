//! The build of msb for arm64.

use std::path::PathBuf;

use anyhow::Result;
use test_fixtures::command::{shown, step};

use crate::toolchain::{TARGET, Toolchain};

/// Builds msb with the agent inside, as tests run it, and returns its path.
///
/// # Errors
/// If the build fails.
pub(crate) fn msb(toolchain: &Toolchain) -> Result<PathBuf> {
    step("build msb for arm64");
    let mut build = toolchain.cargo();
    build.args(["build", "--locked", "--package", "msb", "--target", TARGET]);
    shown(&mut build)?;
    Ok(toolchain.target.join(TARGET).join("debug/msb"))
}
