use std::time::Duration;

use super::Context;
use super::process::ProcessArguments;
use crate::docker::NeedlessOptions;
use msb_terminal::failure::{Outcome, Vanished};
use msb_terminal::option_values;
use msb_terminal::output;
use msb_terminal::streams::{EXIT_KILLED, EXIT_UNREAD, Ending, Joint, join};

/// The exit code after a timeout, as timeout(1) of the GNU coreutils has it.
const EXIT_TIMED_OUT: u8 = 124;

// Arguments of `msb exec`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The command gets the environment, working directory and user that the sandbox \
    was created with, and no entrypoint. It is killed when msb exec is killed.\n\n\
    Exit code: the command's own; 128+N when signal N killed it; 124 after --timeout; 125 when msb \
    failed, 126 when the command cannot be executed, 127 when the command does not exist.\n\n\
    Examples:\n  \
    msb exec work ls -l /root\n  \
    msb exec -it work bash\n  \
    msb exec --snapshot work apt-get -y upgrade; msb undo work\n  \
    tar c . | msb exec -i -w /srv work tar x"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    process: ProcessArguments,
    /// Run in the background and print the job's number; see msb jobs, and --job of logs, wait, kill
    #[arg(short, long, conflicts_with_all = ["interactive", "timeout"])]
    detach: bool,
    /// Take a snapshot before the command, for msb undo; without it, the command is not started
    #[arg(long, conflicts_with = "no_snapshot")]
    snapshot: bool,
    /// Take no snapshot, although the sandbox was created with --snapshot-commands
    #[arg(long)]
    no_snapshot: bool,
    /// Kill the command if it takes longer than this, such as 90s or 2h30m
    #[arg(long, value_name = "TIME")]
    timeout: Option<option_values::Duration>,
    #[command(flatten)]
    needless: NeedlessOptions,
    /// True if the command is one of msb's own, whose output a terminal gets escaped.
    #[arg(skip)]
    is_report: bool,
    /// Sandbox, by name or id
    sandbox: String,
    /// Command and arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

impl Arguments {
    /// Returns the arguments of a command of msb's own, which a user reads as msb's report.
    pub(super) fn report(sandbox: String, command: Vec<String>) -> Self {
        Self {
            process: ProcessArguments::default(),
            detach: false,
            snapshot: false,
            no_snapshot: true,
            timeout: None,
            needless: NeedlessOptions::default(),
            is_report: true,
            sandbox,
            command,
        }
    }
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    arguments.process.check_terminal()?;
    arguments.needless.print(context.quiet);
    let sandbox = context.handle(&arguments.sandbox).await?;
    let mut options = arguments.process.exec_options(&arguments.command)?;
    let is_chosen = arguments.snapshot || arguments.no_snapshot;
    options.snapshot = is_chosen.then_some(arguments.snapshot);
    options.is_unrecorded = arguments.is_report;
    if arguments.detach {
        let job = sandbox.jobs().start_with(options).await?;
        output::print(&format!("{}\n", job.id()))?;
        return Ok(0);
    }
    let joint = Joint {
        terminal: options.tty.is_some(),
        stdin: options.stdin,
        can_leave: false,
        is_ours: true,
        is_report: arguments.is_report,
    };
    let mut end = None;
    let joined = async {
        let process = sandbox.spawn_with(options).await?;
        end = Some(process.record_end(EXIT_TIMED_OUT));
        join(process, joint, &context.timeline).await
    };
    let limit = arguments.timeout.map(|limit| Duration::from_secs(limit.0));
    // A timeout drops the process, which kills the command.
    let joined = tokio::time::timeout(limit.unwrap_or(Duration::MAX), joined).await;
    match joined {
        Err(_) => {
            say_stopped(arguments);
            if let Some(end) = end {
                end.await;
            }
            Ok(EXIT_TIMED_OUT)
        }
        Ok(ending) => match ending? {
            Ending::Exited { code, .. } => Ok(code),
            Ending::Unread => Ok(EXIT_UNREAD),
            Ending::Unwritable(failure) | Ending::Silent(failure) => Err(failure),
            Ending::Enough => Ok(EXIT_KILLED),
            Ending::Left | Ending::Lost => Err(Vanished {
                log_tail: sandbox.last_words().await?,
            })?,
        },
    }
}

fn say_stopped(arguments: &Arguments) {
    let Some(limit) = arguments.timeout else {
        return;
    };
    let text = format!("stopped: --timeout {limit} has elapsed");
    if arguments.process.has_terminal() {
        output::notice_below(&text)
    } else {
        output::notice(&text)
    }
}
