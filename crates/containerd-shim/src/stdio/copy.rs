use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::task::JoinSet;

use super::output::{Input, Output, open_input, open_output};
use super::{StdioError, StdioPaths};
use crate::Running;

/// The size of a copy's buffer, in bytes: the default capacity of a FIFO.
const BUFFER_BYTES: usize = 64 << 10;
/// The time for the rest of the output after the end of a process, which another process can keep open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The opened input and output of a process that is about to be started.
pub(crate) struct OpenStdio {
    stdin: Option<Input>,
    stdout: Option<Output>,
    stderr: Option<Output>,
}

/// The copies between the FIFOs and the streams of a process.
#[derive(Default)]
pub(crate) struct Copies {
    stdin: Mutex<Stdin>,
    input: Mutex<JoinSet<()>>,
    output: tokio::sync::Mutex<JoinSet<()>>,
}

/// The state of standard input.
#[derive(Default)]
struct Stdin {
    /// A write end that keeps it from ending.
    holder: Option<pipe::Sender>,
    /// True if it ends with its last client. It can be closed before the process is started.
    is_closed: bool,
}

impl Stdin {
    fn hold(&mut self, holder: pipe::Sender) {
        if !self.is_closed {
            self.holder = Some(holder);
        }
    }

    fn close(&mut self) {
        self.is_closed = true;
        self.holder.take();
    }
}

impl StdioPaths {
    /// Opens the input and the outputs.
    pub(crate) async fn open(&self) -> Result<OpenStdio, StdioError> {
        let stderr = if self.has_terminal { "" } else { &self.stderr };
        Ok(OpenStdio {
            stdin: open_input(&self.stdin)?,
            stdout: open_output(&self.stdout).await?,
            stderr: open_output(stderr).await?,
        })
    }
}

impl Copies {
    /// Begins to copy, in tasks. Output without a target is read and dropped, so that the process is not held up.
    pub(crate) async fn begin(&self, stdio: OpenStdio, running: &mut Running) {
        if let (Some(input), Some(mut to)) = (stdio.stdin, running.stdin.take()) {
            lock(&self.stdin).hold(input.holder);
            lock(&self.input).spawn(async move {
                let mut from = BufReader::with_capacity(BUFFER_BYTES, input.reader);
                // A process may close its input, or end.
                let _ = tokio::io::copy_buf(&mut from, &mut to).await;
                let _ = to.shutdown().await;
            });
        }
        let mut output = self.output.lock().await;
        for (from, to) in [
            (running.stdout.take(), stdio.stdout),
            (running.stderr.take(), stdio.stderr),
        ] {
            if let Some(from) = from {
                output.spawn(copy(
                    from,
                    to.unwrap_or_else(|| Box::new(tokio::io::sink())),
                ));
            }
        }
    }

    /// Lets standard input end once its last client has closed it.
    pub(crate) fn close_stdin(&self) {
        lock(&self.stdin).close();
    }

    /// Ends the copies of a process that has ended, with the rest of its output if that comes in time.
    pub(crate) async fn drain(&self) {
        self.close_stdin();
        lock(&self.input).abort_all();
        let mut output = self.output.lock().await;
        let drained = async { while output.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, drained).await;
        output.abort_all();
    }
}

async fn copy(from: Box<dyn AsyncRead + Send + Unpin>, mut to: Output) {
    let mut from = BufReader::with_capacity(BUFFER_BYTES, from);
    // Without its target, output is dropped; a process that ends badly ends its stream badly.
    if tokio::io::copy_buf(&mut from, &mut to).await.is_err() {
        let _ = tokio::io::copy_buf(&mut from, &mut tokio::io::sink()).await;
    }
    let _ = to.shutdown().await;
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
