use std::convert::Infallible;
use std::future::pending;

use msb_sdk::{Mount, MountKind, RuleState, Sandbox, SandboxOptions};

use super::create::{self, SandboxArguments};
use super::machine::MachineArguments;
use super::{Context, attach};
use msb_terminal::failure::{Failure, Outcome};
use msb_terminal::questions::{self, BY_RUN};
use msb_terminal::{output, terminal};

// Arguments of `msb run`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    override_usage = "msb run [OPTIONS] IMAGE [COMMAND] [ARG]...\n       msb run [OPTIONS] --from SANDBOX[@NAME] [COMMAND] [ARG]...\n       msb run [OPTIONS] --root-disk FILE COMMAND [ARG]...",
    after_help = "The image's Entrypoint, Cmd, Env, WorkingDir and User are used. Ctrl-P Ctrl-Q \
    detaches from a command with -it; msb attach attaches again. A sandbox whose guest does not \
    boot is removed again; with msb create and msb start it is kept, with its logs. msb help run \
    explains each option in full, and docs/cli.md lists the documents about them.\n\n\
    Exit code: the command's own; 128+N when signal N killed it; 124 after --max-duration or \
    --idle-timeout; 125 when msb failed, 126 when the command cannot be executed, 127 when the \
    command does not exist.\n\n\
    Examples:\n  \
    msb run --rm alpine cat /etc/os-release\n  \
    echo 'print(6*7)' | msb run --rm -i python:3-slim python3 -\n  \
    msb run -it --name work --memory 2G debian bash; msb start -ai work\n  \
    msb run -d --name web python:3-slim python3 -m http.server; msb logs -f web\n  \
    msb run --rm -v ./src:/src:ro -v cache:/root/.cache python:3-slim python3 /src/main.py\n  \
    msb run -it --root-disk debian-13-generic-amd64.qcow2 bash\n  \
    msb run -it --native-root --upper-size 20G --name big debian bash"
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
    let mut options = arguments.sandbox.options()?;
    options.start = arguments.machine.start();
    options.start.wait_for_attach = !arguments.is_left();
    let asks = Asks::of(arguments, &options);
    let request = context.msb.sandboxes().run("").with_options(options);
    let sandbox = create::create(context, &arguments.sandbox, request.detached()).await?;
    if arguments.is_left() {
        output::print(&format!("{}\n", sandbox.id()))?;
        return Ok(0);
    }
    let attached = attach::attach_started(context, &sandbox, arguments.sandbox.process.stdin());
    tokio::select! {
        outcome = attached => outcome,
        never = asks.answer(&sandbox) => match never {},
    }
}

/// The way in which questions of the sandbox are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// The sandbox has no questions, or another client answers them.
    Elsewhere,
    /// The terminal belongs to the command; a notice names the client that answers.
    WithNotice,
    /// At this terminal.
    Here,
}

impl Asks {
    fn of(arguments: &Arguments, options: &SandboxOptions) -> Self {
        let asks = |mount: &Mount| {
            let mut states = mount.rules.iter().map(|rule| rule.state());
            match mount.kind {
                MountKind::Staged => states.any(|state| state == RuleState::Ask),
                MountKind::Bind => {
                    states.any(|state| matches!(state, RuleState::Ask | RuleState::WriteAsk))
                }
                _ => false,
            }
        };
        let can_ask = |mount: &Mount| mount.kind == MountKind::Staged || asks(mount);
        if !options.network.ask && !options.mounts.iter().any(can_ask) {
            return Self::Elsewhere;
        }
        let process = &arguments.sandbox.process;
        if process.has_terminal() || process.stdin() {
            return if options.network.ask || options.mounts.iter().any(asks) {
                Self::WithNotice
            } else {
                Self::Elsewhere
            };
        }
        if terminal::stdin_is_terminal() && terminal::stderr_is_terminal() {
            Self::Here
        } else {
            Self::Elsewhere
        }
    }

    /// Answers the questions of a sandbox that has started, if that is done here.
    async fn answer(self, sandbox: &Sandbox) -> Infallible {
        match self {
            Self::Elsewhere => {}
            Self::WithNotice => {
                let name = sandbox.name();
                output::notice(&format!("msb asks {name} answers questions of the sandbox"));
            }
            Self::Here => {
                // Without the connection other clients may answer.
                if let Ok(events) = sandbox.questions().await
                    && let Err(error) = questions::answer_all(sandbox, &events, BY_RUN).await
                {
                    output::notice(&Failure::from(error).line());
                }
            }
        }
        pending().await
    }
}
