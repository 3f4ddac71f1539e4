use anyhow::anyhow;
use msb_sdk::ForkOptions;

use super::Context;
use super::snapshot::split;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::output;

/// The most forks that one command makes.
const COUNT_MAX: i64 = 1000;

// Arguments of `msb fork`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A fork is a new sandbox with the files of another sandbox, or of its snapshot. \
    Nothing is copied: they share the files until one writes to them, and any of them can be \
    removed first. A fork has the options of its source, but its own id, name and hostname, empty \
    volumes in place of the source's unnamed ones, and none of the host ports that the source \
    names with -p. Forks are not started, and are kept when they stop. msb prints their names.\n\n\
    The source can be running: its guest freezes the filesystem for a moment, as with msb snapshot \
    create, unless --no-freeze is given.\n\n\
    Examples:\n  \
    msb fork work try\n  \
    msb fork work@clean alice bob; msb start alice bob\n  \
    msb fork -n 10 work@clean try"
)]
pub(crate) struct Arguments {
    /// Number of forks, named NAME-1, NAME-2 and so on
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=COUNT_MAX))]
    count: Option<u32>,
    /// Do not freeze the filesystem of a running guest
    #[arg(long)]
    no_freeze: bool,
    /// Sandbox, by name or id, and the name of its snapshot [default: its current files]
    #[arg(value_name = "SANDBOX[@NAME]")]
    source: String,
    /// Names of the forks [default: the fork's id; with --count the source's name]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let (source, snapshot) = split(&arguments.source);
    let sandbox = context.handle(source).await?;
    let mut options = ForkOptions::default();
    options.names = names(arguments, &sandbox.name())?;
    options.snapshot = snapshot.map(str::to_owned);
    options.freeze = !arguments.no_freeze;
    let forks = sandbox.fork(options).await?;
    if let Some(first) = forks.first() {
        context.print_notices(first.warnings());
    }
    for fork in forks {
        output::print(&format!("{}\n", fork.name()))?;
    }
    Ok(0)
}

/// Returns the names of the forks.
fn names(arguments: &Arguments, source: &str) -> Result<Vec<String>, Failure> {
    let Some(count) = arguments.count else {
        return Ok(arguments.names.clone());
    };
    let name: &str = match &arguments.names[..] {
        [] => source,
        [name] => name,
        _ => return Err(anyhow!("with --count one name is given, which the forks number").into()),
    };
    Ok((1..=count)
        .map(|number| format!("{name}-{number}"))
        .collect())
}
