//! Commands in a sandbox.

use super::Sandbox;
use crate::{ExecOptions, ExecRequest, Operation, Output, Process, Text};

impl Sandbox {
    /// Runs a command and collects its output.
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// let output = sandbox
    ///     .exec(["make", "test"])
    ///     .cwd("/src")
    ///     .env("CI", "1")
    ///     .timeout(Duration::from_secs(60))
    ///     .await?;
    /// println!("{} {}", output.exit_code, output.text());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`CommandTimeout`](crate::ErrorKind::CommandTimeout) and
    /// [`OutputLimit`](crate::ErrorKind::OutputLimit) with the output so far,
    /// [`CommandNotFound`](crate::ErrorKind::CommandNotFound),
    /// [`NotExecutable`](crate::ErrorKind::NotExecutable), [`SandboxEnded`](crate::ErrorKind::SandboxEnded),
    /// [`NotRunning`](crate::ErrorKind::NotRunning). A non-zero exit code is an error only after
    /// [`ExecRequest::check`].
    pub fn exec<T: Into<Text>>(&self, argv: impl IntoIterator<Item = T>) -> ExecRequest<Output> {
        ExecRequest::collected(self.handle(), argv)
    }

    /// Runs a command with these options and this standard input, and collects its output.
    ///
    /// # Errors
    /// Fails as [`exec`](Self::exec) does.
    pub fn exec_with(
        &self,
        options: ExecOptions,
        stdin: Option<bytes::Bytes>,
    ) -> Operation<Output> {
        msb_sandbox_handle::collect(self.handle(), options, stdin)
    }

    /// Runs text with `/bin/sh -c` and collects its output.
    ///
    /// # Errors
    /// Fails as [`exec`](Self::exec) does.
    pub fn shell(&self, text: impl Into<Text>) -> ExecRequest<Output> {
        self.exec([Text::from("/bin/sh"), Text::from("-c"), text.into()])
    }

    /// Starts a command whose output is streamed and whose input can be written.
    ///
    /// ```no_run
    /// use msb_sdk::Event;
    ///
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// let process = sandbox.spawn(["make"]).await?;
    /// while let Some(event) = process.next().await? {
    ///     match event {
    ///         Event::Stdout(bytes) => println!("{} bytes", bytes.len()),
    ///         Event::Exit(exit) => println!("exit code {}", exit.code),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails as [`exec`](Self::exec) does at the start of a command.
    pub fn spawn<T: Into<Text>>(&self, argv: impl IntoIterator<Item = T>) -> ExecRequest<Process> {
        ExecRequest::spawned(self.handle(), argv)
    }

    /// Starts a command with these options.
    ///
    /// # Errors
    /// Fails as [`spawn`](Self::spawn) does.
    pub fn spawn_with(&self, options: ExecOptions) -> Operation<Process> {
        msb_sandbox_handle::spawn(self.handle(), options)
    }

    /// Attaches to the main command. Dropping the process leaves the command running.
    ///
    /// # Errors
    /// [`NotRunning`](crate::ErrorKind::NotRunning),
    /// [`CommandNotFound`](crate::ErrorKind::CommandNotFound) and
    /// [`NotExecutable`](crate::ErrorKind::NotExecutable) if the command could not be run.
    pub fn attach(&self) -> Operation<Process> {
        self.attach_with(true)
    }

    /// Attaches to the main command; without `stdin` another client writes its standard input.
    ///
    /// # Errors
    /// Fails as [`attach`](Self::attach) does.
    pub fn attach_with(&self, stdin: bool) -> Operation<Process> {
        msb_sandbox_handle::attach(self.handle(), stdin)
    }
}
