use anyhow::anyhow;
use msb_sdk::{UndoOptions, Undone};

use super::Context;
use super::command_history::{print_undone, words};
use super::machine::MachineArguments;
use super::snapshot::full_name;
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::output;

/// The number of a command's characters that a notice shows.
const COMMAND_SHOWN: usize = 60;

// Arguments of `msb undo`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The sandbox goes back to its files before the last COUNT commands that msb exec --snapshot \
    started, or msb exec in a sandbox that was created with --snapshot-commands; msb history lists them. Commands \
    between them are undone too, and an earlier command that was still running loses its later changes, with a \
    notice. A second msb undo goes further back. Volumes, host directories and the options of \
    the sandbox are not changed.\n\n\
    The previous files are kept as an automatic snapshot, whose name is printed; msb rollback to it takes the undo \
    back. A running sandbox is rolled back as by msb rollback: its processes are killed, and its command is started \
    again.\n\n\
    Examples:\n  \
    msb exec --snapshot work rm -rf /srv; msb undo work\n  \
    msb undo --dry-run work 3"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    machine: MachineArguments,
    /// Print the commands that would be undone, the newest first, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Time limit for processes of a running sandbox to end [default: 0, they are killed at once]
    #[arg(short, long, value_name = "SECONDS")]
    time: Option<u64>,
    /// Sandbox, by name or id
    #[arg(value_name = "SANDBOX")]
    sandbox: String,
    /// Number of commands with a snapshot to undo
    #[arg(value_name = "COUNT", default_value_t = 1)]
    count: usize,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let sandbox = context.handle(&arguments.sandbox).await?;
    let mut options = UndoOptions::default();
    options.count = arguments.count;
    options.dry_run = arguments.dry_run;
    options.stop_timeout_ms = arguments.time.map(|seconds| seconds.saturating_mul(1000));
    options.start = arguments.machine.start();
    let interrupted = |code| {
        let interrupted = anyhow!("interrupted").context("cannot undo the commands");
        Failure::with_exit_code(interrupted, code)
    };
    let undone = context
        .cancellable(sandbox.undo_with(options), interrupted)
        .await?;
    context.print_notices(&undone.notices);
    let Some(kept) = &undone.kept else {
        print_undone(&undone.commands)?;
        if !context.quiet {
            print_overlapping(&undone, "would also lose");
        }
        return Ok(0);
    };
    let kept = full_name(kept);
    if !context.quiet {
        for command in &undone.commands {
            let words = words(command, Some(COMMAND_SHOWN));
            output::notice(&format!("command {} is undone: {words}", command.number));
        }
        print_overlapping(&undone, "also loses");
        output::notice(&format!("take the undo back with msb rollback {kept}"));
    }
    output::print(&format!("{kept}\n"))?;
    Ok(0)
}

/// Tells the earlier commands that were still running.
fn print_overlapping(undone: &Undone, loses: &str) {
    for command in &undone.overlapping {
        let words = words(command, Some(COMMAND_SHOWN));
        let number = command.number;
        output::notice(&format!(
            "the undo {loses} changes of command {number}, whose end was not seen before: {words}"
        ));
    }
}
