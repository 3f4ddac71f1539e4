use std::time::Duration;

use anyhow::Context as _;
use msb_agent_protocol::v1::Attach;
use msb_agent_protocol::{Client, ClientError};
use msb_runtime::{Exit, Lock, ReachError, Sandbox};

use super::Context;
use super::machine::{self, Start};
use crate::failure::{Failure, Outcome, Vanished};
use crate::output;
use crate::streams::{
    EXIT_INTERRUPTED, EXIT_KILLED, EXIT_UNREAD, Ending, Joint, join, not_started,
};

// Arguments of `msb attach`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "What the command prints from now on is shown; msb logs has what it printed before. Signals \
    go to the command. Ctrl-P Ctrl-Q detaches from one that has a terminal.\n\n\
    Exit code: the command's own; 0 after Ctrl-P Ctrl-Q.\n\nExamples:\n  \
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
        Ending::Exited(code) => Ok(code),
        Ending::Left => {
            say_left(&sandbox);
            Ok(0)
        }
        Ending::Enough => {
            say_left(&sandbox);
            Ok(EXIT_INTERRUPTED)
        }
        Ending::Unread => Ok(EXIT_UNREAD),
        Ending::Unwritable(failure) => Err(failure),
        Ending::Lost => Err(lost(&sandbox)),
    }
}

/// Starts the sandbox and joins this process to its first command until that has ended, and the
/// machine with it.
pub(crate) async fn start_and_attach(
    start: &Start<'_>,
    sandbox: &Sandbox,
    lock: Lock,
    takes_stdin: bool,
) -> Outcome {
    let outcome = run_attached(start, sandbox, lock, takes_stdin).await;
    let is_over = !matches!(outcome, Ok(None));
    if sandbox.spec.remove_when_stopped && is_over {
        // The command's own outcome matters more than left-overs, which the next run sweeps.
        if let Err(error) = sandbox.clone().remove() {
            output::notice(&error.to_string());
        }
    }
    Ok(outcome?.unwrap_or(0))
}

/// The exit code, or `None` when the command was left to itself.
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
    let last_words = running.last_words();
    let code = match ending {
        Ok(Ending::Exited(code)) => {
            let ended = running.ended().await;
            ended.context("the command ended, but the sandbox did not shut down cleanly")?;
            return Ok(Some(code));
        }
        Ok(Ending::Left) => {
            running.detach();
            say_left(sandbox);
            return Ok(None);
        }
        Ok(Ending::Lost) => Err(Vanished { last_words }.into()),
        Ok(Ending::Unread) => stopped(sandbox).await.map(|()| EXIT_UNREAD),
        Ok(Ending::Enough) => sandbox
            .kill()
            .await
            .map(|()| EXIT_KILLED)
            .map_err(Into::into),
        // Why nobody hears the command matters more than how it comes to its end.
        Ok(Ending::Unwritable(failure)) => stopped(sandbox).await.and(Err(failure)),
        Err(failure) => Err(failure),
    };
    // Why the machine is at its end is known.
    let _ = running.ended().await;
    code.map(Some)
}

/// Ends a sandbox whose command goes on for nobody.
async fn stopped(sandbox: &Sandbox) -> Result<(), Failure> {
    match sandbox
        .stop(Duration::from_secs(sandbox.spec.stopping.timeout_s))
        .await
    {
        // That it had to be killed is nobody's concern.
        Ok(_) | Err(ReachError::NotRunning { .. }) => Ok(()),
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
        Err(ClientError::Over(status)) => return Ok(Ending::Exited(Exit::code_of(status))),
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

fn lost(sandbox: &Sandbox) -> Failure {
    let last_words = sandbox.last_words();
    Vanished { last_words }.into()
}
