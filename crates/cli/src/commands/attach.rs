use std::time::Duration;

use anyhow::Context as _;
use msb_agent_protocol::v1::Attach;
use msb_agent_protocol::{Client, ClientError};
use msb_runtime::{ConnectError, EndReason, Exit, Lifetime, Lock, Sandbox};

use super::Context;
use super::machine::{self, Start};
use crate::failure::{Failure, Outcome, Vanished};
use crate::streams::{
    EXIT_INTERRUPTED, EXIT_KILLED, EXIT_UNREAD, Ending, Joint, join, not_started,
};
use crate::{option_values, output};

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
    let sandbox = context.sandbox(&arguments.sandbox)?;
    let mut client = sandbox.connect().await?;
    let takes_stdin = sandbox.spec.process.stdin && !arguments.no_stdin;
    let ending = attach(context, &mut client, &sandbox, takes_stdin, false).await?;
    match ending {
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
        Ending::Lost => lost(&sandbox, sandbox.log_tail()),
    }
}

/// Starts the sandbox and attaches this process to its main command. Returns when the command and
/// its machine have ended, or the user has detached.
pub(crate) async fn start_and_attach(
    start: &Start<'_>,
    sandbox: &Sandbox,
    lock: Lock,
    takes_stdin: bool,
) -> Outcome {
    let outcome = run_attached(start, sandbox, lock, takes_stdin).await;
    let is_over = !matches!(outcome, Ok(None));
    if sandbox.spec.remove_when_stopped && is_over {
        // The command's outcome matters more than leftovers, which the next run removes.
        machine::discard(sandbox.clone()).await;
    }
    Ok(outcome?.unwrap_or(0))
}

/// Returns the exit code; `None` if the user detached from the command.
async fn run_attached(
    start: &Start<'_>,
    sandbox: &Sandbox,
    lock: Lock,
    takes_stdin: bool,
) -> Result<Option<u8>, Failure> {
    let running = machine::boot(start, sandbox, lock, true).await?;
    let mut client = running.client();
    let ending = attach(start.context, &mut client, sandbox, takes_stdin, true).await;
    drop(client);
    let log_tail = running.log_tail();
    let code = match ending {
        Ok(Ending::Exited { code, reason }) => {
            say_reason(sandbox, reason);
            let ended = running.ended().await;
            ended.context("the command ended, but the sandbox did not shut down cleanly")?;
            return Ok(Some(code));
        }
        Ok(Ending::Left) => {
            running.detach();
            say_left(sandbox);
            return Ok(None);
        }
        Ok(Ending::Silent(failure)) => {
            // A guest that is paused may go on, and its end may never come.
            running.detach();
            say_left(sandbox);
            return Err(failure);
        }
        Ok(Ending::Lost) => lost(sandbox, log_tail),
        Ok(Ending::Unread) => stopped(sandbox).await.map(|()| EXIT_UNREAD),
        Ok(Ending::Enough) => sandbox
            .kill()
            .await
            .map(|()| EXIT_KILLED)
            .map_err(Into::into),
        // The failure to write is reported rather than the exit of the command that was stopped for
        // it.
        Ok(Ending::Unwritable(failure)) => stopped(sandbox).await.and(Err(failure)),
        Err(failure) => Err(failure),
    };
    // The outcome is known; an error of the machine's end adds nothing to it.
    let _ = running.ended().await;
    code.map(Some)
}

/// Stops a sandbox whose command has no reader any more.
async fn stopped(sandbox: &Sandbox) -> Result<(), Failure> {
    match sandbox
        .stop(Duration::from_secs(sandbox.spec.stopping.timeout_s), None)
        .await
    {
        // It does not matter to the user that the command had to be killed.
        Ok(_) | Err(ConnectError::NotRunning { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn say_left(sandbox: &Sandbox) {
    output::notice_below(&format!("left {} running", sandbox.spec.name));
}

async fn attach(
    context: &Context,
    client: &mut Client,
    sandbox: &Sandbox,
    takes_stdin: bool,
    is_ours: bool,
) -> Result<Ending, Failure> {
    let request = Attach { stdin: takes_stdin };
    let command = match client.attach(request).await {
        Ok(command) => command,
        Err(ClientError::Over(status)) => return Ok(Ending::exited(status)),
        // A limit may have ended the sandbox before its command started.
        Err(_)
            if sandbox
                .first_exit()
                .is_some_and(|exit| exit.reason.is_some()) =>
        {
            return Ok(Ending::Lost);
        }
        Err(error) => return Err(not_started(error)),
    };
    let joint = Joint {
        terminal: sandbox.spec.process.terminal,
        stdin: takes_stdin,
        can_leave: true,
        is_ours,
    };
    join(command, joint, &context.timeline).await
}

/// Returns the outcome of a sandbox that ended before this process received its command's exit.
fn lost(sandbox: &Sandbox, log_tail: Vec<String>) -> Outcome {
    match sandbox.first_exit() {
        Some(Exit {
            code,
            reason: Some(reason),
            ..
        }) => {
            say_reason(sandbox, Some(reason));
            Ok(code)
        }
        _ => Err(Vanished { log_tail }.into()),
    }
}

/// Reports the limit that ended a sandbox, if one did.
fn say_reason(sandbox: &Sandbox, reason: Option<EndReason>) {
    let Some(limit) = reason.map(|reason| limit_option(reason, sandbox.spec.lifetime)) else {
        return;
    };
    let text = format!("stopped: {limit} has elapsed");
    if sandbox.spec.process.terminal {
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
    };
    let value = limit_s.map(|limit_s| format!(" {}", option_values::Duration(limit_s)));
    format!("{option}{}", value.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_said_as_it_was_typed() {
        let lifetime = Lifetime {
            max_duration_s: Some(2),
            idle_timeout_s: Some(600),
        };
        let option = |reason| limit_option(reason, lifetime);
        assert_eq!(option(EndReason::MaxDuration), "--max-duration 2s");
        assert_eq!(option(EndReason::IdleTimeout), "--idle-timeout 10m");
    }
}
