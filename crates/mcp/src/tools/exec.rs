//! Commands: run to their end, their time or their cancellation, with the beginning and the end of their output.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use msb_sdk::{Error, Event, ExecOptions, Exit, HistoryOptions, Process, Sandbox, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::{Effect, SandboxTool, number};
use crate::bounded_text::BoundedText;
use crate::call::Call;
use crate::failure::Stop;
use crate::session::Session;

/// The time that a command may take, in seconds, unless the call has another.
const TIMEOUT_S: u64 = 120;
/// The longest time that a command may take, in seconds.
const TIMEOUT_MAX_S: u64 = 24 * 60 * 60;
/// The exit code of a command that took too long, as timeout(1) has it.
const EXIT_TIMED_OUT: u8 = 124;
/// The exit code of a command that was cancelled, which is killed.
const EXIT_CANCELLED: u8 = 137;
/// The time that a killed command may take to end, and the record of its end.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of the last commands in which a command finds its own record.
const HISTORY_LAST: usize = 32;

/// Runs a command.
pub(super) struct Exec;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the sandbox; the session's first one if left out.
    name: Option<String>,
    /// Command line, which /bin/sh -c runs.
    command: String,
    /// Working directory, an absolute path; the sandbox's own if left out.
    cwd: Option<String>,
    /// Environment variables, besides those of the sandbox.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Standard input; the command reads its end if left out.
    stdin: Option<String>,
    /// Time after which the command is killed with everything that it started, in seconds; 120 if left out.
    #[schemars(range(min = 1, max = TIMEOUT_MAX_S))]
    timeout_s: Option<u64>,
    /// True to keep the files before the command, so that sandbox_undo takes the command back.
    #[serde(default)]
    snapshot: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Exit code; 128 plus the signal that killed the command, 124 after its time.
    exit_code: u8,
    /// Standard output: the first and the last 16 KiB.
    stdout: String,
    /// Standard error: the first and the last 16 KiB.
    stderr: String,
    /// Number of bytes of both that are left out.
    truncated: u64,
    /// True if the command was killed after its time.
    timed_out: bool,
    /// Snapshot of the files before the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<String>,
}

impl SandboxTool for Exec {
    const NAME: &'static str = "sandbox_exec";
    const TITLE: &'static str = "Run a command";
    const DESCRIPTION: &'static str = "Runs a shell command in a sandbox, and returns its exit code and its output. A \
        command that is not to end with the call, such as a server, is started with & and its output redirected.";
    const EFFECT: Effect = Effect::DESTROYS.reaching_out();
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, arguments: Arguments) -> Result<Output, Stop> {
        let limit = number("timeout_s", arguments.timeout_s, TIMEOUT_S, TIMEOUT_MAX_S)?;
        let sandbox = session.sandbox(call, arguments.name.as_deref()).await?;
        let options = options(&arguments);
        let starting = || sandbox.spawn_with(options.clone());
        let process = session.running(call, &sandbox, starting).await?;
        let collected = Mutex::<Collected>::default();
        let outcome = {
            let running = to_end(&process, arguments.stdin, &collected);
            let limited = async { Ok(timeout(Duration::from_secs(limit), running).await) };
            let last_line = || lock(&collected).last_line();
            call.watched(last_line, limited).await
        };
        let exit = match outcome {
            Ok(Ok(exit)) => Some(exit?),
            Ok(Err(_)) => {
                kill(process, EXIT_TIMED_OUT).await;
                None
            }
            Err(stop) => {
                kill(process, EXIT_CANCELLED).await;
                return Err(stop);
            }
        };
        let snapshot = if arguments.snapshot {
            call.awaited(snapshot(&sandbox, &options)).await?
        } else {
            None
        };
        let collected = collected.into_inner();
        let collected = collected.unwrap_or_else(PoisonError::into_inner);
        Ok(collected.output(exit, snapshot))
    }
}

fn options(arguments: &Arguments) -> ExecOptions {
    let mut options = ExecOptions::new(["/bin/sh", "-c", arguments.command.as_str()]);
    options.cwd = arguments.cwd.as_deref().map(Text::from);
    options.env = arguments.env.iter().collect();
    options.stdin = arguments.stdin.is_some();
    options.snapshot = arguments.snapshot.then_some(true);
    options
}

/// Gives a command its input, and receives its output until it has ended.
async fn to_end(
    process: &Process,
    stdin: Option<String>,
    collected: &Mutex<Collected>,
) -> Result<Exit, Error> {
    let mut receiving = pin!(receive(process, collected));
    let mut feeding = pin!(feed(process, stdin));
    let mut is_fed = false;
    loop {
        tokio::select! {
            exit = &mut receiving => return exit,
            () = &mut feeding, if !is_fed => is_fed = true,
        }
    }
}

async fn feed(process: &Process, text: Option<String>) {
    let Some(text) = text else {
        return;
    };
    let stdin = process.stdin();
    // A command that reads no more has enough.
    if stdin.write(text).await.is_ok() {
        let _ = stdin.close().await;
    }
}

async fn receive(process: &Process, collected: &Mutex<Collected>) -> Result<Exit, Error> {
    while let Some(event) = process.next().await? {
        match event {
            Event::Stdout(bytes) => lock(collected).add_stdout(&bytes),
            Event::Stderr(bytes) => lock(collected).add_stderr(&bytes),
            Event::Exit(exit) => return Ok(exit),
            _ => {}
        }
    }
    process.wait().await
}

/// Kills a command with everything that it started, and records its end.
async fn kill(process: Process, exit_code: u8) {
    let recording = process.record_end(exit_code);
    // Dropped, it is killed as well, and nothing waits for that.
    let _ = timeout(KILL_TIMEOUT, process.kill()).await;
    drop(process);
    let _ = timeout(KILL_TIMEOUT, recording).await;
}

/// Returns the snapshot that was taken before a command.
async fn snapshot(sandbox: &Sandbox, command: &ExecOptions) -> Result<Option<String>, Error> {
    let mut options = HistoryOptions::default();
    options.last = Some(HISTORY_LAST);
    let history = sandbox.history_with(options).await?;
    let argv: Vec<String> = command.argv.iter().map(ToString::to_string).collect();
    let mut newest = history.commands.into_iter().rev();
    let own = newest.find(|one| one.snapshot.is_some() && (one.truncated || one.argv == argv));
    Ok(own.and_then(|own| own.snapshot))
}

/// The output of a command so far.
#[derive(Debug, Default)]
struct Collected {
    stdout: BoundedText,
    stderr: BoundedText,
    /// True if standard error is newer than standard output.
    has_newer_stderr: bool,
}

impl Collected {
    fn add_stdout(&mut self, bytes: &[u8]) {
        self.stdout.push(bytes);
        self.has_newer_stderr = false;
    }

    fn add_stderr(&mut self, bytes: &[u8]) {
        self.stderr.push(bytes);
        self.has_newer_stderr = true;
    }

    fn last_line(&self) -> Option<String> {
        if self.has_newer_stderr {
            self.stderr.last_line()
        } else {
            self.stdout.last_line()
        }
    }

    /// Returns the result of a command. Without an exit it was killed after its time.
    fn output(self, exit: Option<Exit>, snapshot: Option<String>) -> Output {
        let (stdout, stderr) = (self.stdout.finish(), self.stderr.finish());
        Output {
            timed_out: exit.is_none(),
            exit_code: exit.map_or(EXIT_TIMED_OUT, |exit| exit.code),
            truncated: stdout.left_out.saturating_add(stderr.left_out),
            stdout: stdout.text,
            stderr: stderr.text,
            snapshot,
        }
    }
}

fn lock(collected: &Mutex<Collected>) -> MutexGuard<'_, Collected> {
    collected.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_counts_what_both_streams_leave_out() {
        let mut collected = Collected::default();
        collected.add_stdout(&vec![b'o'; 40 << 10]);
        collected.add_stderr(&vec![b'e'; 48 << 10]);
        let output = collected.output(None, None);
        assert_eq!((output.exit_code, output.timed_out), (124, true));
        assert_eq!(output.truncated, (8 << 10) + (16 << 10));
        assert!(output.stdout.len() < 33 << 10 && output.stderr.len() < 33 << 10);
    }

    #[test]
    fn the_progress_of_a_command_is_its_newest_line() {
        let mut collected = Collected::default();
        assert_eq!(collected.last_line(), None);
        collected.add_stdout(b"one\n");
        collected.add_stderr(b"warning\n");
        assert_eq!(collected.last_line().as_deref(), Some("warning"));
        collected.add_stdout(b"two");
        assert_eq!(collected.last_line().as_deref(), Some("two"));
    }

    #[test]
    fn arguments_become_a_command_of_the_shell() {
        let arguments =
            r#"{"command": "ls; pwd", "env": {"A": "1"}, "stdin": "", "snapshot": true}"#;
        let arguments: Arguments = serde_json::from_str(arguments).expect("arguments");
        let options = options(&arguments);
        let argv: Vec<String> = options.argv.iter().map(ToString::to_string).collect();
        assert_eq!(argv, ["/bin/sh", "-c", "ls; pwd"]);
        assert_eq!((options.stdin, options.snapshot), (true, Some(true)));
        let env: Vec<(&str, String)> = options
            .env
            .iter()
            .map(|(name, value)| (name, value.to_string()))
            .collect();
        assert_eq!(env, [("A", "1".to_owned())]);
        let plain: Arguments = serde_json::from_str(r#"{"command": "ls"}"#).expect("arguments");
        let plain = super::options(&plain);
        assert_eq!((plain.stdin, plain.snapshot), (false, None));
    }
}
