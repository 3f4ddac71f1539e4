use clap_complete::Shell;

use crate::completion;
use msb_terminal::failure::Outcome;
use msb_terminal::output;

// Arguments of `msb completion`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The script asks msb for the possible next words: commands, options, and the \
    names of sandboxes, images and volumes in MSB_HOME. It works with the msb that printed it, so \
    run msb completion in each new shell.\n\n\
    Examples:\n  \
    echo 'source <(msb completion bash)' >> ~/.bashrc\n  \
    echo 'msb completion fish | source' >> ~/.config/fish/config.fish"
)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    output::print(&completion::script(arguments.shell)?)?;
    Ok(0)
}
