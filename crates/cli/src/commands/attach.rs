use std::time::Duration;

use anyhow::Context as _;
use msb_sdk::{EndReason, Force, Lifetime, Sandbox};

use super::Context;
use msb_terminal::failure::{Failure, Outcome, Vanished};
use msb_terminal::option_values;
use msb_terminal::output;
use msb_terminal::streams::{EXIT_INTERRUPTED, EXIT_KILLED, EXIT_UNREAD, Ending, Joint, join};

/// The time that an ended machine may take to disappear.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);

// Arguments of `msb attach`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Shows the output of the command from now on; msb logs prints the earlier output. Signals go \
    to the command. Ctrl-P Ctrl-Q detaches from a command that has a terminal.\n\n\
    Exit code: the command's own; 124 when the time limit of the sandbox has elapsed; 0 after Ctrl-P \
    Ctrl-Q.\n\n\
    Examples:\n  \
    msb run -dit --name work debian bash; msb attach work"
)]
pub(crate) struct Arguments {
    /// Do not pass standard input to the command
    #[arg(long)]
    no_stdin: bool,
    /// Sandbox, by name or id
    sandbox: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let sandbox = context.handle(&arguments.sandbox).await?;
    let takes_stdin = sandbox.main_command().stdin && !arguments.no_stdin;
    match attach(context, &sandbox, takes_stdin, false).await? {
        Ending::Exited { code, reason } => {
            say_reason(&sandbox, reason);
            Ok(code)
        }
        Ending::Left => {
            say_left(&sandbox);
            Ok(0)
        }
        Ending::Enough => {
            say_left(&sandbox);
            Ok(EXIT_INTERRUPTED)
        }
        Ending::Unread => Ok(EXIT_UNREAD),
        Ending::Unwritable(failure) | Ending::Silent(failure) => Err(failure),
        Ending::Lost => lost(&sandbox).await,
    }
}

/// Attaches this process to the main command of a sandbox that it has started. Returns when the
/// command and its machine have ended, or the user has detached.
pub(crate) async fn attach_started(
    context: &Context,
    sandbox: &Sandbox,
    takes_stdin: bool,
) -> Outcome {
    let outcome = run_attached(context, sandbox, takes_stdin).await;
    let is_over = !matches!(outcome, Ok(None));
    if sandbox.is_removed_when_stopped() && is_over {
        // The command's outcome matters more than leftovers, which the next run removes.
        discard(sandbox).await;
    }
    Ok(outcome?.unwrap_or(0))
}

/// Returns the exit code; `None` if the user detached from the command.
async fn run_attached(
    context: &Context,
    sandbox: &Sandbox,
    takes_stdin: bool,
) -> Result<Option<u8>, Failure> {
    let code = match attach(context, sandbox, takes_stdin, true).await {
        Ok(Ending::Exited { code, reason }) => {
            say_reason(sandbox, reason);
            let ended = sandbox.wait_for_machine().await;
            ended.context("the command ended, but the sandbox did not shut down cleanly")?;
            return Ok(Some(code));
        }
        Ok(Ending::Left) => {
            say_left(sandbox);
            return Ok(None);
        }
        Ok(Ending::Silent(failure)) => {
            // A guest that is paused may go on, and its end may never come.
            say_left(sandbox);
            return Err(failure);
        }
        Ok(Ending::Lost) => lost(sandbox).await,
        Ok(Ending::Unread) => Ok(sandbox.stop(None).await.map(|_| EXIT_UNREAD)?),
        Ok(Ending::Enough) => Ok(sandbox.kill().await.map(|()| EXIT_KILLED)?),
        // The failure to write is reported rather than the exit of the command that was stopped for
        // it.
        Ok(Ending::Unwritable(failure)) => match sandbox.stop(None).await {
            Ok(_) => Err(failure),
            Err(error) => Err(error.into()),
        },
        Err(failure) => Err(failure),
    };
    // The outcome is known; an error of the machine's end adds nothing to it.
    let _ = sandbox.wait_for_machine().await;
    code.map(Some)
}

/// Removes a sandbox whose machine has ended or is about to. A failure is reported as a notice.
async fn discard(sandbox: &Sandbox) {
    // The machine may take a moment to end.
    let _ = tokio::time::timeout(DISCARD_TIMEOUT, sandbox.wait()).await;
    if let Err(error) = sandbox.remove(Force::No).await {
        output::notice(error.message());
    }
}

fn say_left(sandbox: &Sandbox) {
    output::notice_below(&format!("left {} running", sandbox.name()));
}

async fn attach(
    context: &Context,
    sandbox: &Sandbox,
    takes_stdin: bool,
    is_ours: bool,
) -> Result<Ending, Failure> {
    let process = sandbox.attach_with(takes_stdin).await?;
    let joint = Joint {
        terminal: sandbox.main_command().terminal,
        stdin: takes_stdin,
        can_leave: true,
        is_ours,
        is_report: false,
    };
    join(process, joint, &context.timeline).await
}

/// Returns the outcome of a sandbox that ended before this process received its command's exit.
async fn lost(sandbox: &Sandbox) -> Outcome {
    let exit = sandbox.last_exit().await?;
    if let Some((exit, reason)) = exit.and_then(|exit| exit.reason.map(|reason| (exit, reason))) {
        say_limit(sandbox, &limit_option(reason, sandbox.lifetime()));
        return Ok(exit.code);
    }
    Err(Vanished {
        log_tail: sandbox.last_words().await?,
    }
    .into())
}

/// Reports the limit that ended a sandbox, if one did.
fn say_reason(sandbox: &Sandbox, reason: Option<EndReason>) {
    if let Some(reason) = reason {
        say_limit(sandbox, &limit_option(reason, sandbox.lifetime()));
    }
}

fn say_limit(sandbox: &Sandbox, limit: &str) {
    let text = format!("stopped: {limit} has elapsed");
    if sandbox.main_command().terminal {
        output::notice_below(&text)
    } else {
        output::notice(&text)
    }
}

/// Returns the option that sets a limit, with its value.
fn limit_option(reason: EndReason, lifetime: Lifetime) -> String {
    let (option, limit_s) = match reason {
        EndReason::MaxDuration => ("--max-duration", lifetime.max_duration_s),
        EndReason::IdleTimeout => ("--idle-timeout", lifetime.idle_timeout_s),
        _ => ("a limit", None),
    };
    let value = limit_s.map(|limit_s| format!(" {}", option_values::Duration(limit_s)));
    format!("{option}{}", value.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_said_as_it_was_typed() {
        let mut lifetime = Lifetime::default();
        (lifetime.max_duration_s, lifetime.idle_timeout_s) = (Some(2), Some(600));
        let option = |reason| limit_option(reason, lifetime);
        assert_eq!(option(EndReason::MaxDuration), "--max-duration 2s");
        assert_eq!(option(EndReason::IdleTimeout), "--idle-timeout 10m");
    }
}
