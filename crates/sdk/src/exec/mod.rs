//! Commands in a running sandbox: collected, streamed, attached.

mod collect;
mod message;
mod options;
mod output;
mod process;
mod request;

use std::sync::Arc;

use msb_agent_protocol::ClientError;
use msb_agent_protocol::v1::Attach;

pub use options::ExecOptions;
pub use output::Output;
pub use process::{Event, Process, Stdin};
pub use request::ExecRequest;

pub(crate) use collect::collect;
pub(crate) use message::message;

use crate::sandboxes::Handle;
use crate::{Exit, Operation};

/// Starts a command whose output is streamed.
pub(crate) fn spawn(handle: Arc<Handle>, options: ExecOptions) -> Operation<Process> {
    Operation::new(async move {
        let exec = message(&handle.stored().spec.process, &options)?;
        let permit = handle.stream_permit().await?;
        match handle.connect().await?.exec(exec).await {
            Ok(command) => Ok(Process::new(handle, command, options.stdin, permit)),
            Err(error) => Err(handle.explain(error).await),
        }
    })
}

/// Attaches to the main command.
pub(crate) fn attach(handle: Arc<Handle>, takes_stdin: bool) -> Operation<Process> {
    Operation::new(async move {
        let stdin = takes_stdin && handle.stored().spec.process.stdin;
        let permit = handle.stream_permit().await?;
        handle.stored().expect_unpaused()?;
        match handle.connect().await?.attach(Attach { stdin }).await {
            Ok(command) => Ok(Process::new(handle, command, stdin, permit)),
            Err(ClientError::Over(status)) => {
                Ok(Process::ended(handle, Exit::from_status(status), permit))
            }
            Err(error) => Err(handle.explain(error).await),
        }
    })
}
