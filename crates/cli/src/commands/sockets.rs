use std::path::PathBuf;

use anyhow::Context as _;

use msb_terminal::failure::Outcome;

// Arguments of `msb __sockets`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Directory of the sandbox
    directory: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let subject = || format!("sandbox {}", arguments.directory.display());
    msb_sandbox_sockets::serve(&arguments.directory).with_context(subject)?;
    Ok(0)
}
