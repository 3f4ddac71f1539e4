use msb_runtime::{Lock, Sandbox};

use super::create::{self, Created, SandboxArguments};
use super::machine::{self, MachineArguments, Start};
use super::{Context, attach};
use crate::failure::{NotBooted, Outcome};
use crate::output;

// Arguments of `msb run`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    override_usage = "msb run [OPTIONS] IMAGE [COMMAND] [ARG]...",
    after_help = "The image's Entrypoint, Cmd, Env, WorkingDir and User are followed. Ctrl-P Ctrl-Q detaches \
    from a command with -it; msb attach attaches again. A sandbox whose guest does not boot is removed again; \
    with msb create and msb start it is kept, with its logs. msb help run explains each option in full, and \
    docs/cli.md lists the documents about them.\n\n\
    Exit code: the command's own; 128+N when signal N killed it; 124 after --max-duration or --idle-timeout; \
    125 when msb failed, 126 when the command cannot be executed, 127 when the command does not exist.\n\n\
    Examples:\n  \
    msb run --rm alpine cat /etc/os-release\n  \
    echo 'print(6*7)' | msb run --rm -i python:3-slim python3 -\n  \
    msb run -it --name work --memory 2G debian bash; msb start -ai work\n  \
    msb run -d --name web python:3-slim python3 -m http.server; msb logs -f web\n  \
    msb run --rm -v ./src:/src:ro -v cache:/root/.cache python:3-slim python3 /src/main.py"
)]
pub(crate) struct Arguments {
    /// Run in the background and print the sandbox's id
    ///
    /// The commands msb logs, attach, wait and stop take its name or id.
    #[arg(short, long)]
    detach: bool,
    #[command(flatten)]
    sandbox: SandboxArguments,
    #[command(flatten, next_help_heading = "Machine")]
    machine: MachineArguments,
}

impl Arguments {
    /// Returns true if this process does not wait for a command.
    const fn is_left(&self) -> bool {
        self.detach || self.sandbox.no_command
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    if !arguments.detach {
        arguments.sandbox.process.check_terminal()?;
    }
    let trust = arguments.machine.trust();
    let created = create::create(
        context,
        &arguments.sandbox,
        arguments.machine.vmm,
        Some(trust),
    )
    .await?;
    let Created {
        sandbox,
        lock,
        image,
        _lease,
    } = created;
    let start = Start {
        context,
        image: &image,
        machine: &arguments.machine,
    };
    let outcome = if arguments.is_left() {
        start_and_leave(&start, &sandbox, lock).await
    } else {
        let takes_stdin = arguments.sandbox.process.stdin();
        attach::start_and_attach(&start, &sandbox, lock, takes_stdin).await
    };
    if never_ran(&sandbox, &outcome) {
        // The name is free for the next attempt.
        machine::discard(sandbox).await;
    }
    outcome
}

async fn start_and_leave(start: &Start<'_>, sandbox: &Sandbox, lock: Lock) -> Outcome {
    machine::start_and_leave(start, sandbox, lock).await?;
    output::print(&format!("{}\n", sandbox.spec.id))?;
    Ok(0)
}

/// Returns true if the sandbox's command cannot have run. A guest that booted, and whose command
/// ended at once, may be gone before this process has seen it.
fn never_ran(sandbox: &Sandbox, outcome: &Outcome) -> bool {
    let is_of_boot = outcome
        .as_ref()
        .is_err_and(|failure| failure.is_of::<NotBooted>());
    is_of_boot && sandbox.first_exit().is_none()
}
