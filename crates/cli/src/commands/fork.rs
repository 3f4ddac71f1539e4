use anyhow::anyhow;
use msb_sdk::ForkOptions;

use super::Context;
use super::snapshot::split;
use crate::failure::{Failure, Outcome};
use crate::output;

/// The most forks that one command makes.
const COUNT_MAX: i64 = 1000;

// Arguments of `msb fork`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A fork is a sandbox whose files are those of another one, or of its snapshot. Nothing is copied: they share \
    the files until one writes to them, and any of them can be removed first. It has the options of its source, an id, a name \
    and a hostname of its own, empty volumes where the source has some without a name, and none of the ports of this host that \
    -p of the source names. It is not started, and kept when it stops. The names are printed.\n\n\
    The source may run: its guest freezes its filesystem for a moment, as for msb snapshot create, unless --no-freeze is given.\n\n\
    Examples:\n  \
    msb fork work try\n  \
    msb fork work@clean alice bob; msb start alice bob\n  \
    msb fork -n 10 work@clean try"
)]
pub(crate) struct Arguments {
    /// Make this many forks, named NAME-1, NAME-2 and so on
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=COUNT_MAX))]
    count: Option<u32>,
    /// Do not have a running guest freeze its filesystem
    #[arg(long)]
    no_freeze: bool,
    /// Sandbox, by name or id, and the name of its snapshot [default: its files as they are now]
    #[arg(value_name = "SANDBOX[@NAME]")]
    source: String,
    /// Names of the forks [default: one whose name is its id; with --count the source's name]
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
