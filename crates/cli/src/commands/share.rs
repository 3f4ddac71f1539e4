use std::path::PathBuf;

use anyhow::Context as _;

use msb_terminal::failure::Outcome;

// Arguments of `msb __share`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Directory of the sandbox
    directory: PathBuf,
    /// Number of the machine's share, from 0
    index: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    msb_machine::serve_share(&arguments.directory, arguments.index)
        .with_context(|| format!("sandbox {}", arguments.directory.display()))?;
    Ok(0)
}
