use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::failure::Outcome;
use crate::output;

// Arguments of `msb completion`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  msb completion bash > ~/.local/share/bash-completion/completions/msb"
)]
pub(crate) struct Arguments {
    /// For which shell
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut crate::args::Arguments::command(),
        "msb",
        &mut script,
    );
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
