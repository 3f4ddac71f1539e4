//! A command whose output is collected.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use msb_agent_protocol::{
    CHUNK_MAX_BYTES, ClientError, Command, Control, Inputs, Output as Received, Outputs,
};
use msb_client::{Error, ErrorKind, Exit, Operation, Signal};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::description;
use super::message::message;
use super::{ExecOptions, Output};
use crate::Handle;
use crate::recording::Recording;

/// The time that a killed command may take to end. After it the call is given up, which kills the
/// command once more.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// Runs a command, and collects its output.
pub fn collect(
    handle: Arc<Handle>,
    options: ExecOptions,
    stdin: Option<Bytes>,
) -> Operation<Output> {
    Operation::new(async move { collect_now(&handle, options, stdin).await })
}

async fn collect_now(
    handle: &Arc<Handle>,
    mut options: ExecOptions,
    stdin: Option<Bytes>,
) -> Result<Output, Error> {
    let limit = options.timeout();
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    options.stdin = stdin.is_some();
    let mut collected = Collected::new(options.max_output_bytes());
    let starting = async {
        let exec = message(&handle.stored().spec.process, &options)?;
        let permit = handle.stream_permit().await?;
        let mut client = handle.connect().await?;
        let recording = Recording::begin(handle, &client, &options).await?;
        match client.exec(exec).await {
            Ok(command) => Ok((command, recording, permit)),
            Err(error) => Err(recording.failed(handle.explain(error).await).await),
        }
    };
    let Some(started) = before(deadline, starting).await else {
        return Err(collected.timed_out(&options));
    };
    let (command, recording, _permit) = started?;
    let Command {
        inputs,
        mut outputs,
        control,
        ..
    } = command;
    let _feeding = stdin.map(|bytes| Feeding::begin(inputs.clone(), bytes));
    let outcome = collected.receive(&mut outputs, deadline).await;
    let error = match outcome {
        Reception::Exit(exit) => {
            if let Some(error) = handle.killed_by_end(&exit) {
                return Err(collected.attach_to(error));
            }
            recording.end(exit.code).await;
            let output = collected.output(&exit, &options);
            return if options.check {
                output.check()
            } else {
                Ok(output)
            };
        }
        Reception::Lost(error) => {
            let error = match error {
                Some(error) => handle.explain(error).await,
                None => handle.ended(),
            };
            return Err(collected.attach_to(error));
        }
        Reception::TimedOut => {
            end(control, &mut outputs, |output| {
                collected.add(output);
            })
            .await;
            collected.timed_out(&options)
        }
        Reception::TooMuch => {
            end(control, &mut outputs, drop).await;
            collected.too_much(&options)
        }
    };
    drop(inputs);
    Err(recording.failed(error).await)
}

/// Waits for `work` until the deadline; `None` if the deadline came first.
async fn before<T>(deadline: Option<Instant>, work: impl Future<Output = T>) -> Option<T> {
    match deadline {
        None => Some(work.await),
        Some(deadline) => timeout_at(deadline, work).await.ok(),
    }
}

/// Kills a command and waits until it has ended. What it still prints goes to `rest`.
async fn end(mut control: Control, outputs: &mut Outputs, mut rest: impl FnMut(Received)) {
    let ending = async {
        // The command may have ended by itself.
        let _ = control.signal(Signal::KILL.number()).await;
        while let Ok(Some(output)) = outputs.next().await {
            if matches!(output, Received::Exited(_)) {
                return;
            }
            rest(output);
        }
    };
    let _ = timeout(KILL_TIMEOUT, ending).await;
}

/// The way in which the reception of a command's output ended.
enum Reception {
    Exit(Exit),
    TimedOut,
    TooMuch,
    /// The connection broke.
    Lost(Option<ClientError>),
}

/// The output of a command so far.
#[derive(Debug)]
struct Collected {
    stdout: BytesMut,
    stderr: BytesMut,
    left_bytes: usize,
}

impl Collected {
    fn new(limit_bytes: usize) -> Self {
        Self {
            stdout: BytesMut::new(),
            stderr: BytesMut::new(),
            left_bytes: limit_bytes,
        }
    }

    async fn receive(&mut self, outputs: &mut Outputs, deadline: Option<Instant>) -> Reception {
        loop {
            match before(deadline, outputs.next()).await {
                None => return Reception::TimedOut,
                Some(Ok(Some(Received::Exited(status)))) => {
                    return Reception::Exit(Exit::from_status(status));
                }
                Some(Ok(Some(output))) => {
                    if !self.add(output) {
                        return Reception::TooMuch;
                    }
                }
                Some(Ok(None)) => return Reception::Lost(None),
                Some(Err(error)) => return Reception::Lost(Some(error)),
            }
        }
    }

    /// Adds output. Returns false if it exceeds the limit; as much as fits is kept.
    fn add(&mut self, output: Received) -> bool {
        let (bytes, to) = match output {
            Received::Stdout(bytes) => (bytes, &mut self.stdout),
            Received::Stderr(bytes) => (bytes, &mut self.stderr),
            Received::Exited(_) => return true,
        };
        let kept = bytes.len().min(self.left_bytes);
        to.extend_from_slice(&bytes[..kept]);
        self.left_bytes -= kept;
        kept == bytes.len()
    }

    fn output(self, exit: &Exit, options: &ExecOptions) -> Output {
        let (stdout, stderr) = (self.stdout.freeze(), self.stderr.freeze());
        Output::new(exit, &options.argv, stdout, stderr)
    }

    fn attach_to(self, error: Error) -> Error {
        error.with_output(self.stdout.freeze(), self.stderr.freeze())
    }

    fn timed_out(self, options: &ExecOptions) -> Error {
        self.attach_to(super::timed_out(options))
    }

    fn too_much(self, options: &ExecOptions) -> Error {
        let limit_bytes = options.max_output_bytes();
        let command = description::command(&options.argv);
        let message =
            format!("{command} was killed: it printed more than {limit_bytes} bytes (max_output)");
        let error = Error::new(ErrorKind::OutputLimit, message)
            .with_hint("raise max_output, or stream the output with spawn");
        self.attach_to(error.with_detail("limit_bytes", limit_bytes))
    }
}

/// A task that sends standard input, and ends with this value.
#[derive(Debug)]
struct Feeding(JoinHandle<()>);

impl Feeding {
    fn begin(inputs: Inputs, bytes: Bytes) -> Self {
        Self(tokio::spawn(async move {
            // A command that reads no more has enough.
            if send(&inputs, bytes).await {
                inputs.end().await;
            }
        }))
    }
}

impl Drop for Feeding {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends bytes in chunks. Returns false if the command accepts no more input.
pub(super) async fn send(inputs: &Inputs, mut bytes: Bytes) -> bool {
    while !bytes.is_empty() {
        let chunk = bytes.split_to(bytes.len().min(CHUNK_MAX_BYTES));
        if !inputs.send(chunk).await {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdout(text: &'static str) -> Received {
        Received::Stdout(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn output_beyond_the_limit_is_cut_there() {
        let mut collected = Collected::new(5);
        assert!(collected.add(stdout("abc")));
        assert!(!collected.add(Received::Stderr(Bytes::from_static(b"defg"))));
        let options = ExecOptions {
            max_output: Some(msb_sandbox_model::Size::new(5)),
            ..ExecOptions::new(["true"])
        };
        let error = collected.too_much(&options);
        assert_eq!(error.kind(), ErrorKind::OutputLimit);
        assert_eq!(
            (&error.stdout()[..], &error.stderr()[..]),
            (&b"abc"[..], &b"de"[..])
        );
        assert_eq!(error.details()["limit_bytes"], 5);
    }

    #[test]
    fn a_timeout_carries_the_output() {
        let mut collected = Collected::new(100);
        assert!(collected.add(stdout("so far")));
        let options = ExecOptions {
            timeout_ms: Some(1500),
            ..ExecOptions::new(["true"])
        };
        let error = collected.timed_out(&options);
        assert_eq!(error.kind(), ErrorKind::CommandTimeout);
        assert_eq!(error.exit_code(), 124);
        assert!(error.message().contains("1.5 s"), "{error}");
        assert_eq!(&error.stdout()[..], b"so far");
    }
}
