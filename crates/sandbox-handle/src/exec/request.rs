use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use msb_client::{Error, IntoSize, Operation, TerminalSize, Text, Ulimit};

use super::{ExecOptions, Output, Process};
use crate::Handle;
use crate::jobs::Job;

/// The function that runs a command.
type Run<T> = fn(Arc<Handle>, ExecOptions, Option<Bytes>) -> Operation<T>;

/// A command that has not begun: options to set, then `.await`.
///
/// `T` is what comes of it: an [`Output`], a [`Process`] or a [`Job`].
#[derive(Debug)]
#[must_use = "a command does nothing until it is awaited"]
pub struct ExecRequest<T> {
    handle: Arc<Handle>,
    options: ExecOptions,
    stdin: Option<Bytes>,
    run: Run<T>,
    /// The first option that cannot be used.
    invalid: Option<Error>,
}

impl<T> ExecRequest<T> {
    fn new<A: Into<Text>>(
        handle: Arc<Handle>,
        argv: impl IntoIterator<Item = A>,
        run: Run<T>,
    ) -> Self {
        Self {
            handle,
            options: ExecOptions::new(argv),
            stdin: None,
            run,
            invalid: None,
        }
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<Text>) -> Self {
        self.options.env.set(name, value);
        self
    }

    /// Sets the working directory, an absolute path that must exist.
    pub fn cwd(mut self, path: impl Into<Text>) -> Self {
        self.options.cwd = Some(path.into());
        self
    }

    /// Sets the user, as `user[:group]`.
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.options.user = Some(user.into());
        self
    }

    /// Adds a group besides the user's.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.options.groups.push(group.into());
        self
    }

    /// Sets a resource limit, such as `nofile`.
    pub fn ulimit(mut self, name: impl Into<String>, limit: impl Into<Ulimit>) -> Self {
        self.options.ulimits.insert(name.into(), limit.into());
        self
    }

    /// Has a snapshot be taken before the command, so that it can be undone with
    /// `Sandbox::undo`, or none, whatever the sandbox was created with. Without its
    /// snapshot the command is not started.
    pub fn snapshot(mut self, is_taken: bool) -> Self {
        self.options.snapshot = Some(is_taken);
        self
    }

    /// Returns the options so far, as data.
    pub fn options(&self) -> &ExecOptions {
        &self.options
    }
}

impl ExecRequest<Output> {
    /// Returns a command whose output is collected.
    pub fn collected<A: Into<Text>>(
        handle: Arc<Handle>,
        argv: impl IntoIterator<Item = A>,
    ) -> Self {
        Self::new(handle, argv, super::collect)
    }

    /// Gives the command these bytes as its whole standard input.
    pub fn stdin(mut self, bytes: impl Into<Bytes>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Runs the command on a terminal; what it prints is then all standard output.
    pub fn tty(mut self, rows: u16, cols: u16) -> Self {
        self.options.tty = Some(TerminalSize { rows, cols });
        self
    }

    /// Sets the time after which the command is killed.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.options.timeout_ms = Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Sets the most bytes of output, in bytes or as `32M`; the command is killed when it prints
    /// more.
    pub fn max_output(mut self, size: impl IntoSize) -> Self {
        match size.into_size() {
            Ok(size) => self.options.max_output = Some(size),
            Err(error) => {
                self.invalid.get_or_insert(error);
            }
        }
        self
    }

    /// Fails with [`CommandFailed`](msb_client::ErrorKind::CommandFailed) if the exit code is not 0.
    pub fn check(mut self) -> Self {
        self.options.check = true;
        self
    }
}

impl ExecRequest<Process> {
    /// Returns a command whose output is streamed.
    pub fn spawned<A: Into<Text>>(handle: Arc<Handle>, argv: impl IntoIterator<Item = A>) -> Self {
        Self::new(handle, argv, |handle, options, _| {
            super::spawn(handle, options)
        })
    }

    /// Sets the time after which the command is killed. Its events and its wait end with
    /// [`CommandTimeout`](msb_client::ErrorKind::CommandTimeout) then.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.options.timeout_ms = Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Keeps standard input open, to be written by [`Process::stdin`].
    pub fn stdin(mut self) -> Self {
        self.options.stdin = true;
        self
    }

    /// Runs the command on a terminal; what it prints is then all standard output.
    pub fn tty(mut self, rows: u16, cols: u16) -> Self {
        self.options.tty = Some(TerminalSize { rows, cols });
        self
    }
}

impl ExecRequest<Job> {
    /// Returns a command that is started as a job.
    pub fn job<A: Into<Text>>(handle: Arc<Handle>, argv: impl IntoIterator<Item = A>) -> Self {
        Self::new(handle, argv, |handle, options, _| {
            crate::jobs::start(handle, options)
        })
    }
}

impl<T: Send + 'static> IntoFuture for ExecRequest<T> {
    type Output = Result<T, Error>;
    type IntoFuture = Operation<T>;

    fn into_future(self) -> Operation<T> {
        match self.invalid {
            Some(error) => Operation::new(async { Err(error) }),
            None => (self.run)(self.handle, self.options, self.stdin),
        }
    }
}
