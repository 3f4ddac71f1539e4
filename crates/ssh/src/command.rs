//! Commands of the guest, with the streams of a channel.

use std::pin::pin;

use msb_sdk::{Error, Event, ExecOptions, Exit, Face, Process};
use russh::server::Handle;
use tokio::sync::mpsc;

use crate::agent_socket::AgentSocket;
use crate::channels::{Control, Input, Receivers};
use crate::guest::Guest;
use crate::output::{Closed, Output};

/// The exit code of a command whose end is not known, as of ssh for a connection that broke.
const EXIT_LOST: u8 = 255;
/// The exit code of msb's own failures.
const EXIT_MSB_FAILED: u8 = 125;

/// A command that a client asks for.
pub(crate) struct Command {
    pub(crate) options: ExecOptions,
    /// The socket by which the command asks the client's ssh-agent, if the client has offered it.
    pub(crate) agent: Option<AgentSocket>,
}

impl Command {
    /// Runs the command until it ends, or the task is aborted because the channel was closed.
    pub(crate) async fn run(
        self,
        guest: Guest,
        handle: Handle,
        output: Output,
        receivers: Receivers,
    ) {
        let Self { mut options, agent } = self;
        if let Some(agent) = &agent {
            options.env.set("SSH_AUTH_SOCK", agent.path());
        }
        let line_end = if options.tty.is_some() { "\r\n" } else { "\n" };
        let process = match guest.sandbox().spawn_with(options).await {
            Ok(process) => process,
            Err(error) => return fail(&output, &error, line_end).await,
        };
        let serving = async {
            match agent {
                Some(agent) => agent.serve(&handle).await,
                None => std::future::pending().await,
            }
        };
        let ended = tokio::select! {
            ended = to_end(&process, &output, receivers) => ended,
            never = serving => match never {},
        };
        match ended {
            Ok(Some(exit)) => output.exit(&handle, &exit).await,
            // The client has gone, so nothing can be said.
            Ok(None) => {}
            Err(error) => fail(&output, &error, line_end).await,
        }
    }
}

/// Passes streams and controls on until the command has ended. `None` if the client has gone before.
async fn to_end(
    process: &Process,
    output: &Output,
    receivers: Receivers,
) -> Result<Option<Exit>, Error> {
    let mut receiving = pin!(receive(process, output));
    let mut feeding = pin!(feed(process, receivers.inputs));
    let mut controlling = pin!(control(process, receivers.controls));
    let (mut is_fed, mut is_controlled) = (false, false);
    loop {
        tokio::select! {
            ended = &mut receiving => return ended,
            () = &mut feeding, if !is_fed => is_fed = true,
            () = &mut controlling, if !is_controlled => is_controlled = true,
        }
    }
}

async fn receive(process: &Process, output: &Output) -> Result<Option<Exit>, Error> {
    while let Some(event) = process.next().await? {
        let sent = match event {
            Event::Stdout(bytes) => output.send(bytes).await,
            Event::Stderr(bytes) => output.send_error(bytes).await,
            Event::Exit(exit) => return Ok(Some(exit)),
            _ => Ok(()),
        };
        if let Err(Closed) = sent {
            return Ok(None);
        }
    }
    process.wait().await.map(Some)
}

/// Writes the client's input. Once the command reads no more, the rest is dropped with the receiver.
async fn feed(process: &Process, mut inputs: mpsc::UnboundedReceiver<Input>) {
    let stdin = process.stdin();
    while let Some(Input::Data(waiting)) = inputs.recv().await {
        if stdin.write(waiting.bytes.clone()).await.is_err() {
            return;
        }
    }
    // A command that has ended needs no end of its input.
    let _ = stdin.close().await;
}

async fn control(process: &Process, mut controls: mpsc::Receiver<Control>) {
    while let Some(control) = controls.recv().await {
        // A command that has ended needs neither.
        let _ = match control {
            Control::Resize(size) => process.resize(size.rows, size.cols).await,
            Control::Signal(signal) => process.signal(signal.number()).await,
        };
    }
}

/// Reports an error of msb on the standard error of the command, with its hints.
async fn fail(output: &Output, error: &Error, line_end: &str) {
    let mut lines = vec![format!("msb: {}", error.message())];
    let hints = error.hints_for(Face::CommandLine);
    lines.extend(hints.iter().map(|hint| format!("hint: {hint}")));
    let mut text = String::new();
    for line in &lines {
        text.push_str(&terminal_text::escaped(line));
        text.push_str(line_end);
    }
    let exit_code = match error.exit_code() {
        EXIT_MSB_FAILED => EXIT_LOST,
        code => code,
    };
    output.fail(&text, exit_code).await;
}
