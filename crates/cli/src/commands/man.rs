use std::path::PathBuf;

use anyhow::Context as _;

use crate::man_pages;
use msb_terminal::failure::Outcome;
use msb_terminal::output;

// Arguments of `msb man`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Packages of msb contain these pages. man finds them in the directory man1 of a directory in \
    MANPATH.\n\n\
    Examples:\n  \
    mkdir -p ~/.local/share/man/man1 && msb man ~/.local/share/man/man1"
)]
pub(crate) struct Arguments {
    /// Directory for the pages; files of the same names are replaced
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, grammar: clap::Command) -> Outcome {
    let directory = &arguments.directory;
    let pages = man_pages::write(grammar, directory)
        .with_context(|| format!("cannot write manual pages to {}", directory.display()))?;
    output::print(&format!("{pages} pages in {}\n", directory.display()))?;
    Ok(0)
}
