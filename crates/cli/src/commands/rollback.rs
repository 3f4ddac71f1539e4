use anyhow::anyhow;
use msb_sdk::RollbackOptions;

use super::Context;
use super::machine::MachineArguments;
use super::snapshot::{full_name, split};
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::output;

// Arguments of `msb rollback`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a snapshot's name, the sandbox goes back to its newest snapshot. Its \
    previous files are kept as an automatic snapshot, whose name is printed; rolling back to it \
    undoes the rollback. Volumes, host directories and the options of the sandbox are not changed.\n\n\
    The processes of a running sandbox are killed, and its command is started again; its machine \
    keeps running, so this takes less time than a boot. If the guest does not cooperate, the \
    machine is stopped as with msb stop, and booted again. A sandbox that was created with --rm is \
    refused.\n\n\
    Examples:\n  \
    msb rollback work\n  \
    msb rollback -t 10 work@clean"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    machine: MachineArguments,
    /// Time limit for processes of a running sandbox to end [default: 0, they are killed at once]
    #[arg(short, long, value_name = "SECONDS")]
    time: Option<u64>,
    /// Sandbox, by name or id, and the name of its snapshot
    #[arg(value_name = "SANDBOX[@NAME]")]
    snapshot: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let (sandbox, name) = split(&arguments.snapshot);
    let sandbox = context.handle(sandbox).await?;
    let mut options = RollbackOptions::default();
    options.name = name.map(str::to_owned);
    options.stop_timeout_ms = arguments.time.map(|seconds| seconds.saturating_mul(1000));
    options.start = arguments.machine.start();
    let interrupted = |code| {
        let interrupted = anyhow!("interrupted").context("cannot roll back the sandbox");
        Failure::with_exit_code(interrupted, code)
    };
    let rolling = sandbox.rollback_with(options);
    let rolled = context.cancellable(rolling, interrupted).await?;
    context.print_notices(&rolled.notices);
    output::print(&format!("{}\n", full_name(&rolled.kept)))?;
    Ok(0)
}
