//! The process that serves a sandbox's network.
//!
//! The VMM process starts it before the machine, in its own process group: a kill ends both.
//! Otherwise it ends when no process holds the guest's end of the frame socket.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fs_err as fs;
use msb_jail::{JailError, Strictness, renounce};
use msb_network::{Network, Publish, READY, ServeError, Settings};
use msb_runtime::{SandboxPaths, VmmCommand};
use serde::Deserialize;

use crate::network_edge::{self, NetworkEdgeError};
use crate::{confinement, passed_stream};

/// Time limit for listening on the published ports.
const READY_TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of the report of published ports: more than all ports of a host take.
const REPORT_MAX_BYTES: u64 = 16 << 20;
/// Interval of the checks that the process still runs.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The network process failed.
#[derive(Debug, thiserror::Error)]
pub enum NetworkProcessError {
    /// The launch spec cannot be read, or the socket cannot be used.
    #[error("cannot {action}")]
    Io {
        /// The failed operation, a verb and an object.
        action: &'static str,
        /// The I/O error that caused it.
        #[source]
        source: io::Error,
    },
    /// The TLS of secrets cannot be ended.
    #[error(transparent)]
    Edge(#[from] NetworkEdgeError),
    /// The process cannot be confined, so it serves no guest.
    #[error("cannot confine the network process")]
    Jail(#[from] JailError),
    /// The network failed while it was opened or served.
    #[error("the network failed")]
    Serve(#[from] ServeError),
}

/// A VMM process has no network for its machine.
#[derive(Debug, thiserror::Error)]
pub enum NetworkStartError {
    /// The network process could not be started, or did not report that it is ready.
    #[error("cannot {action}")]
    Io {
        /// The failed operation, a verb and an object.
        action: &'static str,
        /// The I/O error that caused it.
        #[source]
        source: io::Error,
    },
    /// The network process ended; it has printed the reason itself.
    #[error("the network process ended with {outcome}")]
    Ended {
        /// The exit status of the process.
        outcome: ExitStatus,
    },
}

/// The part of `machine.json` that the network process reads.
#[derive(Debug, Deserialize)]
struct NetworkSpec {
    network: Option<Settings>,
    jail: Strictness,
}

/// Serves the network of the sandbox in `directory`. Standard input is the frame socket, over which the connection with
/// the supervisor comes first.
/// The process is confined after it listens on the published ports and has written them to standard
/// output, a pipe, as a line with the JSON of `ports.json`. Its further lines are the reports of the network. It leaves
/// all files to the VMM process, which holds the sandbox's lock: whoever else writes to the directory may meet its
/// removal. Only the socket for the values of secrets is its own: the VMM process waits until it is there.
///
/// # Errors
/// If a port cannot be published, the TLS of secrets cannot be ended, the process cannot be confined, or the socket fails.
pub fn serve_network(directory: &Path) -> Result<(), NetworkProcessError> {
    let io_error = |action| move |source| NetworkProcessError::Io { action, source };
    let files = SandboxPaths {
        directory: directory.to_owned(),
    };
    let launch_spec =
        fs::read(files.launch_spec()).and_then(|json| Ok(serde_json::from_slice(&json)?));
    let launch_spec: NetworkSpec = launch_spec.map_err(io_error("read machine.json"))?;
    let socket = io::stdin().as_fd().try_clone_to_owned();
    let socket = UnixStream::from(socket.map_err(io_error("use standard input"))?);
    let supervisor = passed_stream::take(&socket);
    let supervisor = supervisor.map_err(io_error("take the connection with the supervisor"))?;
    let settings = launch_spec.network.unwrap_or_default();
    let edge = network_edge::open(&files, &settings)?;
    let network = Network::bind(&settings, edge)?.with_supervisor(supervisor);
    let reports = report(&network.published()).map_err(io_error("report the published ports"))?;
    renounce(&confinement::limits_of_network(&network), launch_spec.jail)?;
    confinement::of_network(&network).put_on(launch_spec.jail)?;
    Ok(network.serve(socket, reports)?)
}

/// Writes the ports to standard output. Returns its pipe, which is standard output no longer: what else is printed is no
/// report.
fn report(published: &[Publish]) -> io::Result<File> {
    let mut line = serde_json::to_vec(published)?;
    line.push(b'\n');
    let mut pipe = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    pipe.write_all(&line)?;
    rustix::stdio::dup2_stdout(fs::File::open("/dev/null")?)?;
    Ok(pipe)
}

/// The network's process, as the VMM process has it.
#[derive(Debug)]
pub(crate) struct NetworkProcess {
    /// The guest's end of the frame socket.
    pub(crate) guest_end: OwnedFd,
    /// The network's end. It is held until the machine ends, so that a VMM never sees a closed peer if the
    /// process fails; libkrun would read the end of the stream indefinitely.
    pub(crate) network_end: OwnedFd,
    /// The reports of the process, until it ends.
    pub(crate) reports: BufReader<ChildStdout>,
}

/// The network's process, and the supervisor's end of the connection with it.
type Started = (NetworkProcess, UnixStream);

/// Starts the process, waits until it is ready, and records the ports that it has published.
pub(crate) fn start(
    files: &SandboxPaths,
    command: &VmmCommand,
) -> Result<Started, NetworkStartError> {
    let io_error = |action| move |source| NetworkStartError::Io { action, source };
    let (mut guest_end, network_end) = UnixStream::pair().map_err(io_error("create its socket"))?;
    let (supervisor, passed) = UnixStream::pair().map_err(io_error("create its connection"))?;
    passed_stream::pass(&guest_end, &passed).map_err(io_error("pass on its connection"))?;
    drop(passed);
    let held = network_end
        .as_fd()
        .try_clone_to_owned()
        .map_err(io_error("pass on its socket"))?;
    let mut child = Command::new(&command.program)
        .args(&command.arguments)
        .arg(&files.directory)
        .stdin(Stdio::from(OwnedFd::from(network_end)))
        .stdout(Stdio::piped())
        .spawn()
        .map_err(io_error("start its process"))?;
    let reported = reported(&mut child);
    match await_ready(&mut guest_end, &mut child) {
        Ok(()) => {
            let recorded = reported
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("its reader panicked")))
                .and_then(|(json, reports)| {
                    durable_files::replace_bytes(&files.ports(), &json)?;
                    Ok(reports)
                });
            let process = NetworkProcess {
                guest_end: guest_end.into(),
                network_end: held,
                reports: recorded.map_err(io_error("record its ports"))?,
            };
            Ok((process, supervisor))
        }
        Err(error) => {
            // The process may have ended by itself.
            let _ = child.kill();
            Err(error)
        }
    }
}

/// Reads the ports that the process reports, on a thread: a long list of them does not fit into the pipe.
fn reported(child: &mut Child) -> JoinHandle<io::Result<(Vec<u8>, BufReader<ChildStdout>)>> {
    let stdout = child.stdout.take();
    std::thread::spawn(move || {
        let stdout = stdout.ok_or(io::ErrorKind::BrokenPipe)?;
        let mut reports = BufReader::new(stdout);
        let mut json = Vec::new();
        reports
            .by_ref()
            .take(REPORT_MAX_BYTES)
            .read_until(b'\n', &mut json)?;
        Ok((json, reports))
    })
}

fn await_ready(guest_end: &mut UnixStream, child: &mut Child) -> Result<(), NetworkStartError> {
    let io_error = |source| NetworkStartError::Io {
        action: "wait until it is ready",
        source,
    };
    let deadline = Instant::now() + READY_TIMEOUT;
    guest_end
        .set_read_timeout(Some(POLL_INTERVAL))
        .map_err(io_error)?;
    let mut said = [0; READY.len()];
    loop {
        match guest_end.read_exact(&mut said) {
            Ok(()) if said == READY => break,
            Ok(()) => return Err(io_error(io::ErrorKind::InvalidData.into())),
            Err(error) if !is_early(&error) || Instant::now() > deadline => {
                return Err(io_error(error));
            }
            // The end of the process does not end the stream: this process holds that end too.
            Err(_) => {
                if let Some(outcome) = child.try_wait().map_err(io_error)? {
                    return Err(NetworkStartError::Ended { outcome });
                }
            }
        }
    }
    guest_end.set_read_timeout(None).map_err(io_error)
}

fn is_early(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
