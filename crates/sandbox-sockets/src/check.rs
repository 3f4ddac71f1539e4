use msb_runtime::{Home, Spec};

use crate::SocketsError;
use crate::door::{Door, agent_path};
use crate::host::HostSocket;
use crate::shared_directories::SharedDirectories;

/// Checks before a start that the sockets of the host are there, and may be forwarded.
///
/// # Errors
/// No SSH agent, a path that does not lead to a socket, the socket of an engine or of msb itself, or a path that a sandbox
/// could lead elsewhere.
pub fn check(spec: &Spec, home: &Home) -> Result<(), SocketsError> {
    let doors = Door::all(&spec.guest, agent_path())?;
    if doors.is_empty() {
        return Ok(());
    }
    let shared = SharedDirectories::read(home, &spec.mounts)?;
    doors
        .iter()
        .try_for_each(|door| HostSocket::open(&door.host, &shared).map(drop))
}
