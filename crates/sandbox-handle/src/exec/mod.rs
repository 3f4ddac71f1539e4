//! Commands in a running sandbox: collected, streamed, attached.

mod collect;
mod description;
mod message;
mod options;
mod output;
mod process;
mod request;

use std::sync::Arc;

use msb_agent_protocol::ClientError;
use msb_agent_protocol::v1::Attach;
use tokio::time::Instant;

pub use options::ExecOptions;
pub use output::Output;
pub use process::{Event, Process, Stdin};
pub use request::ExecRequest;

pub use collect::collect;
pub(crate) use message::message;
use msb_client::{Error, ErrorKind, Exit, Operation};

use crate::Handle;
use crate::recording::Recording;

/// Starts a command whose output is streamed.
pub fn spawn(handle: Arc<Handle>, options: ExecOptions) -> Operation<Process> {
    Operation::new(async move {
        if options.check || options.max_output.is_some() {
            let message = "a command whose output is streamed has neither check nor max_output";
            return Err(Error::invalid(message));
        }
        let exec = message(&handle.stored().spec.process, &options)?;
        let deadline = options
            .timeout()
            .and_then(|limit| Instant::now().checked_add(limit));
        let permit = handle.stream_permit().await?;
        let mut client = handle.connect().await?;
        let recording = Recording::begin(&handle, &client, &options).await?;
        match client.exec(exec).await {
            Ok(command) => {
                let process =
                    Process::new(handle, (command, Some(recording)), options.stdin, permit);
                if let Some(deadline) = deadline {
                    process.kill_at(deadline, options);
                }
                Ok(process)
            }
            Err(error) => Err(recording.failed(handle.explain(error).await).await),
        }
    })
}

/// Attaches to the main command.
pub fn attach(handle: Arc<Handle>, takes_stdin: bool) -> Operation<Process> {
    Operation::new(async move {
        let stdin = takes_stdin && handle.stored().spec.process.stdin;
        let permit = handle.stream_permit().await?;
        handle.stored().expect_unpaused()?;
        match handle.connect().await?.attach(Attach { stdin }).await {
            Ok(command) => Ok(Process::new(handle, (command, None), stdin, permit)),
            Err(ClientError::Over(status)) => {
                Ok(Process::ended(handle, Exit::from_status(status), permit))
            }
            Err(error) => Err(handle.explain(error).await),
        }
    })
}

/// Returns the error of a command that was killed after its time.
fn timed_out(options: &ExecOptions) -> Error {
    let limit = options.timeout().unwrap_or_default();
    let message = format!(
        "{} was killed: it took longer than {} s",
        description::command(&options.argv),
        limit.as_secs_f64()
    );
    let limit_ms = options.timeout_ms.unwrap_or_default();
    Error::new(ErrorKind::CommandTimeout, message).with_detail("limit_ms", limit_ms)
}
