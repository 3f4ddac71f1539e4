use std::path::PathBuf;

use anyhow::Context as _;

use super::machine;
use crate::failure::Outcome;

/// Arguments of `msb vmm`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Directory of the sandbox
    directory: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    msb_runtime::serve(
        &arguments.directory,
        &machine::Backends::from_environment().all(),
        &machine::this_program("network")?,
    )
    .with_context(|| format!("sandbox {}", arguments.directory.display()))?;
    Ok(0)
}
