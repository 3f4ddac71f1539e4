use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use msb_agent_protocol::{Command, Control, Inputs, Output as Received, Outputs};
use msb_client::{Error, ErrorKind, Exit, Signal, TerminalSize};
use tokio::io::{AsyncRead, AsyncWriteExt as _};
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::ExecOptions;
use super::collect::send;
use crate::Handle;
use crate::recording::Recording;

/// Bytes of one stream that may wait for their reader.
const STREAM_BUFFER_BYTES: usize = 64 << 10;
/// The time that a sandbox's supervisor may take to list its failed disks.
const DISK_ERRORS_TIMEOUT: Duration = Duration::from_secs(1);

/// A running command whose output is streamed.
///
/// A reader that is slow slows the command down: little output waits between them. Dropping the
/// process kills the command and what it started; one of `Sandbox::attach`
/// leaves the command running.
#[derive(Debug)]
pub struct Process {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    handle: Arc<Handle>,
    pid: u32,
    /// `None` if the command had ended before.
    control: Option<Control>,
    inputs: Mutex<Option<Inputs>>,
    /// True if standard input can be written.
    has_stdin: bool,
    outputs: AsyncMutex<Option<Outputs>>,
    end: Mutex<End>,
    closing: watch::Sender<bool>,
    /// The record of the command; `None` of the main command.
    recording: Option<Recording>,
    /// The task that kills the command after its time; unset if it has no limit of time.
    killing: OnceLock<AbortHandle>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(killing) = self.killing.get() {
            killing.abort();
        }
    }
}

/// The end of a command.
#[derive(Debug, Default)]
struct End {
    exit: Option<Exit>,
    /// True if the event of the exit was returned.
    is_told: bool,
    /// True if the connection ended before the command did.
    is_broken: bool,
    /// The options of a command that was killed after its time.
    timed_out: Option<ExecOptions>,
    /// Failures of the sandbox's disks, one line for each, if the command failed.
    disk_errors: Vec<String>,
}

/// An event of a running command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Bytes of standard output, or of the terminal.
    Stdout(Bytes),
    /// Bytes of standard error.
    Stderr(Bytes),
    /// The command has ended; this is the last event.
    Exit(Exit),
}

impl Process {
    pub(super) fn new(
        handle: Arc<Handle>,
        (command, recording): (Command, Option<Recording>),
        has_stdin: bool,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let Command {
            pid,
            inputs,
            outputs,
            control,
        } = command;
        Self {
            inner: Arc::new(Inner {
                handle,
                pid,
                control: Some(control),
                inputs: Mutex::new(Some(inputs)),
                has_stdin,
                outputs: AsyncMutex::new(Some(outputs)),
                end: Mutex::default(),
                closing: watch::Sender::new(false),
                recording,
                killing: OnceLock::new(),
                _permit: permit,
            }),
        }
    }

    /// Returns a process that had ended before a client attached to it.
    pub(super) fn ended(handle: Arc<Handle>, exit: Exit, permit: OwnedSemaphorePermit) -> Self {
        Self {
            inner: Arc::new(Inner {
                handle,
                pid: 0,
                control: None,
                inputs: Mutex::default(),
                has_stdin: false,
                outputs: AsyncMutex::default(),
                end: Mutex::new(End {
                    exit: Some(exit),
                    ..End::default()
                }),
                closing: watch::Sender::new(false),
                recording: None,
                killing: OnceLock::new(),
                _permit: permit,
            }),
        }
    }

    /// Kills the command at a time, unless it has ended. Its end is an error then.
    pub(super) fn kill_at(&self, deadline: Instant, options: ExecOptions) {
        let inner = Arc::downgrade(&self.inner);
        let killing = tokio::spawn(async move {
            sleep_until(deadline).await;
            let Some(inner) = inner.upgrade() else {
                return;
            };
            let Ok(mut control) = inner.control() else {
                return;
            };
            {
                let mut end = inner.end();
                if end.exit.is_some() {
                    return;
                }
                end.timed_out = Some(options);
            }
            // The command may have ended by itself.
            let _ = control.signal(Signal::KILL.number()).await;
        });
        // A process is given one limit.
        let _ = self.inner.killing.set(killing.abort_handle());
    }

    /// Returns failures of the sandbox's disks, one line for each, which may be the reason why the
    /// command has failed; none until it has.
    pub fn disk_errors(&self) -> Vec<String> {
        self.inner.end().disk_errors.clone()
    }

    /// Returns the command's process id in the sandbox; 0 if it had ended before.
    pub fn pid(&self) -> u32 {
        self.inner.pid
    }

    /// Returns the next event, and waits for it; `None` after the last one, or once the process is
    /// closed.
    ///
    /// # Errors
    /// [`SandboxEnded`](ErrorKind::SandboxEnded).
    pub async fn next(&self) -> Result<Option<Event>, Error> {
        self.inner.next().await
    }

    /// Waits until the command has ended. Output that nobody has read is discarded.
    ///
    /// # Errors
    /// [`SandboxEnded`](ErrorKind::SandboxEnded), or [`NotRunning`](ErrorKind::NotRunning) if the
    /// process was closed.
    pub async fn wait(&self) -> Result<Exit, Error> {
        loop {
            if let Some(exit) = self.inner.exit() {
                return match &self.inner.end().timed_out {
                    Some(options) => Err(super::timed_out(options)),
                    None => Ok(exit),
                };
            }
            if self.next().await?.is_none() && self.inner.exit().is_none() {
                return Err(self.inner.no_exit().await);
            }
        }
    }

    /// Returns standard output as a stream of bytes. Standard error is discarded meanwhile; a
    /// failure ends the stream early, and [`wait`](Self::wait) reports it.
    pub fn stdout(&self) -> impl AsyncRead + Send + Unpin + 'static {
        self.stream(|event| match event {
            Event::Stdout(bytes) => Some(bytes),
            Event::Stderr(_) | Event::Exit(_) => None,
        })
    }

    /// Returns standard error as a stream of bytes. Standard output is discarded meanwhile.
    pub fn stderr(&self) -> impl AsyncRead + Send + Unpin + 'static {
        self.stream(|event| match event {
            Event::Stderr(bytes) => Some(bytes),
            Event::Stdout(_) | Event::Exit(_) => None,
        })
    }

    fn stream(
        &self,
        wanted: fn(Event) -> Option<Bytes>,
    ) -> impl AsyncRead + Send + Unpin + 'static {
        let (reader, mut writer) = tokio::io::simplex(STREAM_BUFFER_BYTES);
        let inner = Arc::clone(&self.inner);
        // The task ends with its reader, or with the process.
        tokio::spawn(async move {
            while let Ok(Some(event)) = inner.next().await {
                if let Some(bytes) = wanted(event)
                    && writer.write_all(&bytes).await.is_err()
                {
                    return;
                }
            }
            // The reader may be gone.
            let _ = writer.shutdown().await;
        });
        reader
    }

    /// Returns standard input.
    pub fn stdin(&self) -> Stdin {
        Stdin {
            inner: Arc::clone(&self.inner),
        }
    }

    /// Sets the size of the command's terminal.
    ///
    /// # Errors
    /// If the command has ended.
    pub async fn resize(&self, rows: u16, cols: u16) -> Result<(), Error> {
        let size = TerminalSize { rows, cols };
        let mut control = self.inner.control()?;
        match control.resize(size.into()).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.inner.handle.explain(error).await),
        }
    }

    /// Sends a signal to the command and what it started.
    ///
    /// # Errors
    /// If the command has ended, or [`InvalidArgument`](ErrorKind::InvalidArgument) for an unknown
    /// signal.
    pub async fn signal<S>(&self, signal: S) -> Result<(), Error>
    where
        S: TryInto<Signal> + Send,
        Error: From<S::Error>,
    {
        let signal = signal.try_into()?;
        let mut control = self.inner.control()?;
        match control.signal(signal.number()).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.inner.handle.explain(error).await),
        }
    }

    /// Kills the command and what it started. A command that has ended is no error.
    ///
    /// # Errors
    /// [`SandboxEnded`](ErrorKind::SandboxEnded).
    pub async fn kill(&self) -> Result<(), Error> {
        if self.inner.exit().is_some() {
            return Ok(());
        }
        let mut control = self.inner.control()?;
        let killed = control.signal(Signal::KILL.number()).await;
        match killed {
            Ok(()) => Ok(()),
            Err(error) => match self.inner.handle.explain(error).await {
                error if error.is(ErrorKind::SandboxEnded) => Err(error),
                // The command has ended by itself.
                _ => Ok(()),
            },
        }
    }

    /// Returns work that records the end of the command, for a caller that drops the process before it.
    #[doc(hidden)]
    pub fn record_end(&self, exit_code: u8) -> impl Future<Output = ()> + Send + use<> {
        let recording = self.inner.recording.clone();
        async move {
            if let Some(recording) = recording {
                recording.end(exit_code).await;
            }
        }
    }

    /// Closes the process: a command that runs is killed, and events end. Does not wait.
    pub fn close(&self) {
        self.inner.close();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.inner.close();
    }
}

impl Inner {
    fn end(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn exit(&self) -> Option<Exit> {
        self.end().exit.clone()
    }

    fn control(&self) -> Result<Control, Error> {
        let control = self.control.clone();
        control.ok_or_else(|| Error::new(ErrorKind::NotRunning, "the command has ended"))
    }

    /// Returns the error of a command whose exit is not known and will not be.
    async fn no_exit(&self) -> Error {
        // Another reader may have received the failure.
        if self.end().is_broken {
            let message = "the connection ended before the command did";
            return self.handle.explain(Error::internal(message)).await;
        }
        Error::new(ErrorKind::NotRunning, "the process was closed")
    }

    /// Returns the exit, unless its event was returned already.
    fn untold_exit(&self) -> Option<Exit> {
        let mut end = self.end();
        let exit = end.exit.clone().filter(|_| !end.is_told);
        end.is_told |= exit.is_some();
        exit
    }

    /// Asks for the failed disks: the output of a command may not name the cause of its failure, and a
    /// command that succeeds does not see that its writes fail later. A supervisor that does not answer reports none.
    async fn ask_for_disk_errors(&self) {
        let Ok(control) = self.control() else {
            return;
        };
        let mut client = control.client();
        let asked = timeout(DISK_ERRORS_TIMEOUT, client.disk_errors());
        let messages = asked.await.unwrap_or(Ok(Vec::new())).unwrap_or_default();
        let messages = messages.iter().map(|line| msb_client::printable(line));
        self.end().disk_errors = messages.collect();
    }

    async fn next(&self) -> Result<Option<Event>, Error> {
        let mut outputs = self.outputs.lock().await;
        let Some(stream) = outputs.as_mut() else {
            return Ok(self.untold_exit().map(Event::Exit));
        };
        let mut closing = self.closing.subscribe();
        let received = tokio::select! {
            biased;
            _ = closing.wait_for(|&is_closing| is_closing) => {
                *outputs = None;
                return Ok(None);
            }
            received = stream.next() => received,
        };
        match received {
            Ok(Some(Received::Stdout(bytes))) => Ok(Some(Event::Stdout(bytes))),
            Ok(Some(Received::Stderr(bytes))) => Ok(Some(Event::Stderr(bytes))),
            Ok(Some(Received::Exited(status))) => {
                // From here on the exit is known, also if this future is dropped.
                *outputs = None;
                let exit = Exit::from_status(status);
                if let Some(error) = self.handle.killed_by_end(&exit) {
                    self.end().is_broken = true;
                    return Err(error);
                }
                self.end().exit = Some(exit.clone());
                if let Some(recording) = &self.recording {
                    recording.end(exit.code).await;
                }
                // Also after a success: the guest's writes are lost after the command wrote them.
                self.ask_for_disk_errors().await;
                // The inputs of an attached client stay until here: the machine is kept while a
                // client has not received the exit.
                self.inputs().take();
                let mut end = self.end();
                if let Some(options) = &end.timed_out {
                    let error = super::timed_out(options);
                    end.is_told = true;
                    return Err(error);
                }
                drop(end);
                Ok(self.untold_exit().map(Event::Exit))
            }
            Ok(None) => {
                *outputs = None;
                self.end().is_broken = true;
                Err(self.handle.ended())
            }
            Err(error) => {
                *outputs = None;
                self.end().is_broken = true;
                Err(self.handle.explain(error).await)
            }
        }
    }

    fn inputs(&self) -> MutexGuard<'_, Option<Inputs>> {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.closing.send_replace(true);
        self.inputs().take();
        // A task that waits for an event drops the outputs itself.
        if let Ok(mut outputs) = self.outputs.try_lock() {
            *outputs = None;
        }
    }
}

/// Standard input of a running command.
#[derive(Debug, Clone)]
pub struct Stdin {
    inner: Arc<Inner>,
}

impl Stdin {
    /// Writes bytes, and waits until the command has room for them.
    ///
    /// # Errors
    /// [`NotRunning`](ErrorKind::NotRunning) if the command reads no more, or
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if it was started without standard input.
    pub async fn write(&self, bytes: impl Into<Bytes> + Send) -> Result<(), Error> {
        let is_read = match self.inputs()? {
            Some(inputs) => send(&inputs, bytes.into()).await,
            None => false,
        };
        if is_read {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::NotRunning,
            "the command reads no more standard input",
        ))
    }

    /// Ends standard input, after everything that was written.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if the command was started without standard
    /// input.
    pub async fn close(&self) -> Result<(), Error> {
        if let Some(inputs) = self.inputs()? {
            inputs.end().await;
        }
        Ok(())
    }

    fn inputs(&self) -> Result<Option<Inputs>, Error> {
        if !self.inner.has_stdin {
            let message = "the command was started without standard input";
            return Err(Error::invalid(message));
        }
        Ok(self.inner.inputs().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::stopped_sandbox;

    #[tokio::test]
    async fn a_wait_after_another_reader_saw_the_end_says_that_the_sandbox_ended() {
        let (_home, handle) = stopped_sandbox();
        let process = async |is_broken| {
            let handle = Arc::clone(&handle);
            let permit = handle.stream_permit().await.expect("a permit");
            let process = Process::ended(handle, Exit::without_command(), permit);
            *process.inner.end() = End {
                is_broken,
                ..End::default()
            };
            process.wait().await.expect_err("no exit").kind()
        };
        assert_eq!(process(true).await, ErrorKind::SandboxEnded);
        assert_eq!(process(false).await, ErrorKind::NotRunning);
    }
}
