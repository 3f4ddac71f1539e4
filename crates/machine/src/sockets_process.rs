//! The process that forwards sockets of the host.
//!
//! The VMM process starts it before the machine, in its process group: a kill ends both. Otherwise it ends when the
//! supervisor's end of its connection is closed.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use msb_runtime::{LaunchSpec, SandboxPaths, VmmCommand};

/// The process, as the supervisor has it.
#[derive(Debug)]
pub(crate) struct SocketsProcess {
    /// The connection that the process makes its calls on.
    pub(crate) client: UnixStream,
    /// The connection on which the process says that programs can connect.
    pub(crate) ready: UnixStream,
}

/// Starts the process; `None` if the sandbox has no such sockets.
pub(crate) fn start(
    files: &SandboxPaths,
    launch_spec: &LaunchSpec,
    command: &VmmCommand,
) -> io::Result<Option<SocketsProcess>> {
    let guest = &launch_spec.supervisor.guest;
    if guest.sockets.is_empty() && !guest.forward_agent {
        return Ok(None);
    }
    let (client, stdin) = UnixStream::pair()?;
    let (ready, stdout) = UnixStream::pair()?;
    Command::new(&command.program)
        .args(&command.arguments)
        .arg(&files.directory)
        .stdin(Stdio::from(OwnedFd::from(stdin)))
        .stdout(Stdio::from(OwnedFd::from(stdout)))
        .spawn()?;
    Ok(Some(SocketsProcess { client, ready }))
}
