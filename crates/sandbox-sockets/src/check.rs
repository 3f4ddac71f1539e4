use msb_runtime::Spec;

use crate::door::{Door, agent_path};
use crate::{SocketsError, host};

/// Checks before a start that the sockets of the host are there, and may be forwarded.
///
/// # Errors
/// No SSH agent, a path that does not lead to a socket, or the socket of a container engine.
pub fn check(spec: &Spec) -> Result<(), SocketsError> {
    let doors = Door::all(&spec.guest, agent_path())?;
    doors.iter().try_for_each(|door| host::check(&door.host))
}
