//! Processes: the agent's stream of a command as the streams of a shim.

use std::sync::Arc;
use std::time::Duration;

use msb_agent_protocol::v1::{ContainerStatsRequest, ExecContainer, ExitStatus, exit_status};
use msb_agent_protocol::{
    Bytes, CHUNK_MAX_BYTES, Client, ClientError, Code, Command, Inputs, Output, Outputs,
};
use msb_containerd_shim::{Container, Exec, Exit, PodError, Running};
use oci_spec_plan::plan_process;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::oneshot;

use super::call::refused;
use super::{Execs, lock};
use crate::specification;

/// The bytes of a stream that wait for their reader: the capacity of a pipe.
const STREAM_BYTES: usize = 64 << 10;
/// The time for the figures of a container that has ended.
const FIGURES_TIMEOUT: Duration = Duration::from_secs(2);
/// The status of a process whose end the machine did not report: killed by SIGKILL.
const KILLED: u32 = 137;
/// The status of a killed process is this and the number of the signal.
const KILLED_BY: u32 = 128;
/// The highest exit code. The guest can report any.
const CODE_MAX: u32 = 255;

/// The streams of a process, seen from the shim.
struct Streams {
    stdin: DuplexStream,
    stdout: DuplexStream,
    /// Standard error; `None` with a terminal.
    stderr: Option<DuplexStream>,
}

/// The end of a process; `None` if the machine did not report it.
type End = oneshot::Receiver<Option<ExitStatus>>;

/// Starts the first process of a container, over a connection of its own. `client` is another one, for figures.
pub(super) async fn start(
    mut connection: Client,
    client: Client,
    container: &Container,
) -> Result<Running, PodError> {
    let command = connection.start_container(&container.id).await;
    let command = command.map_err(|error| not_started(&container.id, error))?;
    let (streams, end) = Streams::open(command, container.has_terminal);
    let id = container.id.clone();
    Ok(streams.running(async move {
        let status = status(end.await.ok().flatten());
        Exit {
            status,
            is_out_of_memory: is_out_of_memory(&client, id).await,
        }
    }))
}

/// Starts a further process in a container, over a connection of its own. Its control is kept until it ends.
pub(super) async fn exec(
    mut connection: Client,
    exec: &Exec,
    execs: &Execs,
) -> Result<Running, PodError> {
    let planned = plan_process(&exec.spec);
    let mut process = planned.map_err(|error| specification::refused(&error))?;
    // As with runc, the request decides.
    process.terminal = exec
        .has_terminal
        .then(|| process.terminal.unwrap_or_default());
    let container_id = exec.name.container_id.clone();
    let request = ExecContainer {
        container_id: container_id.clone(),
        process: process.to_bytes().map_err(|error| refused(&error))?.into(),
        stdin: true,
    };
    let command = connection.exec_container(request).await;
    let command = command.map_err(|error| not_started(&container_id, error))?;
    let (name, execs) = (exec.name.clone(), Arc::clone(execs));
    lock(&execs).insert(name.clone(), command.control.clone());
    let (streams, end) = Streams::open(command, exec.has_terminal);
    Ok(streams.running(async move {
        let status = status(end.await.ok().flatten());
        lock(&execs).remove(&name);
        Exit {
            status,
            is_out_of_memory: false,
        }
    }))
}

impl Streams {
    /// Connects the streams of a command, in tasks that end with it.
    fn open(command: Command, has_terminal: bool) -> (Self, End) {
        let (stdin, input) = duplex(STREAM_BYTES);
        let (stdout, output) = duplex(STREAM_BYTES);
        let (stderr, errors) = duplex(STREAM_BYTES);
        let (ended, end) = oneshot::channel();
        let (inputs, outputs) = (command.inputs, command.outputs);
        // A terminal outlives whoever types.
        let held = has_terminal.then(|| inputs.clone());
        tokio::spawn(async move {
            if feed(input, &inputs).await && !has_terminal {
                inputs.end().await;
            }
        });
        tokio::spawn(async move {
            let status = pass_on(outputs, output, errors).await;
            drop(held);
            // The shim has given the process up if nobody listens.
            let _ = ended.send(status);
        });
        let streams = Self {
            stdin,
            stdout,
            stderr: (!has_terminal).then_some(stderr),
        };
        (streams, end)
    }

    fn running(self, exit: impl Future<Output = Exit> + Send + 'static) -> Running {
        let boxed =
            |stream: DuplexStream| -> Box<dyn AsyncRead + Send + Unpin> { Box::new(stream) };
        Running {
            stdin: Some(Box::new(self.stdin)),
            stdout: Some(boxed(self.stdout)),
            stderr: self.stderr.map(boxed),
            exit: Box::pin(exit),
        }
    }
}

/// Passes standard input on. Returns true at its end, false if the command accepts no more.
async fn feed(mut from: DuplexStream, inputs: &Inputs) -> bool {
    let mut buffer = vec![0; CHUNK_MAX_BYTES];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let bytes = Bytes::copy_from_slice(buffer.get(..count).unwrap_or_default());
        if !inputs.send(bytes).await {
            return false;
        }
    }
    true
}

/// Passes output on until the end of the command, and returns that; `None` if the machine does not report it. Output
/// without a reader is dropped.
async fn pass_on(
    mut outputs: Outputs,
    mut stdout: DuplexStream,
    mut stderr: DuplexStream,
) -> Option<ExitStatus> {
    loop {
        match outputs.next().await {
            Ok(Some(Output::Stdout(bytes))) => drop(stdout.write_all(&bytes).await),
            Ok(Some(Output::Stderr(bytes))) => drop(stderr.write_all(&bytes).await),
            Ok(Some(Output::Exited(status))) => return Some(status),
            Ok(None) | Err(_) => return None,
        }
    }
}

/// Returns the status of an end as containerd has it.
fn status(end: Option<ExitStatus>) -> u32 {
    match end.and_then(|end| end.status) {
        Some(exit_status::Status::Code(code)) => code.min(CODE_MAX),
        Some(exit_status::Status::Signal(signal)) => KILLED_BY.saturating_add(signal).min(CODE_MAX),
        None => KILLED,
    }
}

/// Returns true if the kernel has killed a process of the container because of its memory limit.
async fn is_out_of_memory(client: &Client, container_id: String) -> bool {
    let mut containers = client.containers();
    let asked = containers.stats(ContainerStatsRequest { container_id });
    let figures = tokio::time::timeout(FIGURES_TIMEOUT, asked).await;
    // A machine that has ended knows nothing.
    let Ok(Ok(figures)) = figures else {
        return false;
    };
    figures.get_ref().memory_oom_kill.unwrap_or(0) > 0
}

/// Returns the error of a process that was not started.
fn not_started(container_id: &str, error: ClientError) -> PodError {
    match error {
        ClientError::Files {
            code: Code::NotFound,
            ..
        } => PodError::NotFound(format!("container {container_id:?}")),
        error => PodError::Other(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_code_or_128_and_a_signal() {
        let end = |status| {
            Some(ExitStatus {
                status: Some(status),
                ..ExitStatus::default()
            })
        };
        assert_eq!(status(end(exit_status::Status::Code(7))), 7);
        assert_eq!(status(end(exit_status::Status::Code(7000))), 255);
        assert_eq!(status(end(exit_status::Status::Signal(9))), 137);
        assert_eq!(status(end(exit_status::Status::Signal(u32::MAX))), 255);
        assert_eq!(status(None), 137);
    }
}
