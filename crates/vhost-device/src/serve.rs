use std::mem::ManuallyDrop;
use std::os::unix::net::UnixListener;

use vhost::vhost_user::Error as ConnectionError;
use vhost_user_backend::{Error, VhostUserDaemon};
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

use crate::{Answer, Device, ServeError};

impl<A: Answer> Device<A> {
    /// Accepts one connection of a VMM and serves its guest until it closes. One thread of the process serves the
    /// queues and one, called `name`, the connection; the first one continues to run until the process ends.
    ///
    /// # Errors
    /// If the VMM violates the vhost-user protocol.
    pub fn serve(self, name: &str, listener: UnixListener) -> Result<(), ServeError> {
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
        let daemon = VhostUserDaemon::new(name.to_owned(), self, memory)
            .map_err(ServeError::during("start a device"))?;
        // Dropping it would wait for a thread, which may be busy with a request that never ends.
        let mut daemon = ManuallyDrop::new(daemon);
        daemon
            .start(&mut listener.into())
            .map_err(ServeError::during("serve the machine"))?;
        match daemon.wait() {
            Err(Error::HandleRequest(
                ConnectionError::Disconnected
                | ConnectionError::PartialMessage
                | ConnectionError::SocketBroken(_),
            )) => Ok(()),
            ended => ended.map_err(ServeError::during("continue to serve the machine")),
        }
    }
}
