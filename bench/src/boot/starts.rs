use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::msb::words;

/// Runs commands that start guests, with a time limit, and repeats lost starts.
pub(super) struct Starts {
    limit: Duration,
    retries: u32,
    lost: u32,
}

/// Times in seconds since a command's start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) first_byte_s: f64,
    pub(super) end_s: f64,
}

impl Starts {
    pub(super) const fn new(limit_s: u64, retries: u32) -> Self {
        Self {
            limit: Duration::from_secs(limit_s),
            retries,
            lost: 0,
        }
    }

    /// Returns the number of lost starts.
    pub(super) const fn lost(&self) -> u32 {
        self.lost
    }

    /// Returns the limit in seconds, as an option of `msb run` and `msb start`.
    pub(super) fn limit_s(&self) -> String {
        self.limit.as_secs().to_string()
    }

    /// Repeats `attempt` until it succeeds. It returns `None` for a lost start.
    pub(super) fn again<T>(
        &mut self,
        mut attempt: impl FnMut(&Self) -> Result<Option<T>>,
    ) -> Result<T> {
        loop {
            if let Some(got) = attempt(self)? {
                return Ok(got);
            }
            ensure!(self.lost < self.retries, "a start did not end");
            self.lost += 1;
        }
    }

    /// Runs a command to its end. `None` if it printed nothing.
    pub(super) fn first_byte(&self, command: &mut Command) -> Result<Option<Times>> {
        let begun = Instant::now();
        let mut child = spawn(command.stdout(Stdio::piped()))?;
        let _watched = self.watch(&child)?;
        let mut stdout = child.stdout.take().context("stdout is piped")?;
        let length = stdout.read(&mut [0])?;
        let first_byte_s = begun.elapsed().as_secs_f64();
        let status = child.wait()?;
        let end_s = begun.elapsed().as_secs_f64();
        if length == 0 {
            return Ok(None);
        }
        ensure!(status.success(), "{} ended with {status}", words(command));
        Ok(Some(Times {
            first_byte_s,
            end_s,
        }))
    }

    /// Runs a command to its end and returns its seconds. `None` if it failed.
    pub(super) fn timed(&self, command: &mut Command) -> Result<Option<f64>> {
        let begun = Instant::now();
        let mut child = spawn(command.stdout(Stdio::null()))?;
        let _watched = self.watch(&child)?;
        let is_success = child.wait()?.success();
        Ok(is_success.then(|| begun.elapsed().as_secs_f64()))
    }

    /// Runs a command to its end and returns what it printed. `None` if it failed.
    pub(super) fn output(&self, command: &mut Command) -> Result<Option<String>> {
        let child = spawn(command.stdout(Stdio::piped()))?;
        let _watched = self.watch(&child)?;
        let output = child.wait_with_output()?;
        let text = output.status.success().then_some(output.stdout);
        let text = text.map(String::from_utf8).transpose();
        text.with_context(|| format!("{} printed no UTF-8", words(command)))
    }

    /// Kills the process if it exceeds the limit by a margin. msb's own limit expires first.
    fn watch(&self, child: &Child) -> Result<mpsc::Sender<()>> {
        let Some(pid) = Pid::from_raw(child.id().cast_signed()) else {
            bail!("a process has no id");
        };
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        let (watched, ended) = mpsc::channel::<()>();
        let limit = self.limit + MARGIN;
        thread::spawn(move || {
            if ended.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                // The process may have ended on its own.
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
        });
        Ok(watched)
    }
}

/// The time that msb has to end by itself after its guest was silent for too long.
const MARGIN: Duration = Duration::from_secs(20);

fn spawn(command: &mut Command) -> Result<Child> {
    let child = command.stdin(Stdio::null()).spawn();
    child.with_context(|| format!("cannot run {}", words(command)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn a_lost_start_is_tried_again_so_often() {
        let mut starts = Starts::new(60, 1);
        let mut scripts = ["exit 1", "echo here"].into_iter();
        let times = starts.again(|starts| {
            starts.first_byte(&mut shell(scripts.next().expect("tried too often")))
        });
        let times = times.expect("the second try");
        assert!(times.first_byte_s <= times.end_s);
        assert_eq!(starts.lost(), 1);
        let lost = starts.again(|starts| starts.timed(&mut shell("exit 1")));
        lost.expect_err("no retries are left");
    }

    #[test]
    fn what_a_command_prints_counts_if_it_succeeds() {
        let starts = Starts::new(60, 5);
        let output = |script: &str| starts.output(&mut shell(script)).expect("it ran");
        assert_eq!(output("echo here").as_deref(), Some("here\n"));
        assert_eq!(output("echo here; exit 3"), None);
    }

    #[test]
    fn a_failure_after_the_first_byte_is_one() {
        let starts = Starts::new(60, 5);
        let failed = starts.first_byte(&mut shell("echo here; exit 3"));
        failed.expect_err("it failed");
    }
}
