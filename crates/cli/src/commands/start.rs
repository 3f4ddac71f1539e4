use anyhow::anyhow;
use msb_sdk::{Sandbox, StartOptions};

use super::machine::MachineArguments;
use super::{Context, attach};
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::terminal;

// Arguments of `msb start`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The sandbox boots from its disk as it was when it stopped, and runs its command again.\n\n\
    Examples:\n  \
    msb run -it --name work debian bash; msb start -ai work\n  \
    msb start web; msb logs -f web"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    machine: MachineArguments,
    /// Attach to the command until it ends, and exit with its exit code
    #[arg(short, long)]
    attach: bool,
    /// Pass standard input to a command that was created with -i
    #[arg(short, long)]
    interactive: bool,
    /// Sandboxes, by name or id
    #[arg(required = true, value_name = "SANDBOX")]
    sandboxes: Vec<String>,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    if !arguments.attach && !arguments.interactive {
        return context
            .each(&arguments.sandboxes, async |sandbox| {
                start(context, &sandbox, &arguments.machine).await
            })
            .await;
    }
    let [name] = arguments.sandboxes.as_slice() else {
        return Err(anyhow!("-a and -i can be used with only one sandbox").into());
    };
    let sandbox = context.handle(name).await?;
    let command = sandbox.main_command();
    if command.argv.is_empty() {
        return Err(
            anyhow!("cannot attach to sandbox {name}: it was created without a command").into(),
        );
    }
    let mut options = arguments.machine.start();
    options.wait_for_attach = true;
    options.window = terminal::stdin_is_terminal().then(terminal::size);
    start_with(context, &sandbox, options).await?;
    let takes_stdin = arguments.interactive && command.stdin;
    attach::attach_started(context, &sandbox, takes_stdin).await
}

/// Starts a sandbox without attaching to its main command.
pub(crate) async fn start(
    context: &Context,
    sandbox: &Sandbox,
    machine: &MachineArguments,
) -> Result<(), Failure> {
    start_with(context, sandbox, machine.start()).await
}

async fn start_with(
    context: &Context,
    sandbox: &Sandbox,
    options: StartOptions,
) -> Result<(), Failure> {
    let interrupted = |code| {
        let interrupted = anyhow!("interrupted").context("cannot start the sandbox");
        Failure::with_exit_code(interrupted, code)
    };
    let starting = sandbox.start_with(options);
    let notices = context.cancellable(starting, interrupted).await?;
    context.print_notices(&notices);
    Ok(())
}
