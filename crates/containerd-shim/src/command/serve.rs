//! `serve`: the process of a shim.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixListener;
use std::path::Path;

use tokio::runtime::Builder;

use super::CommandError;
use super::arguments::Arguments;
use crate::{Group, Log, Server, Shim};

/// Serves the tasks of a group at the socket that is standard input, until the shim is shut down.
pub(super) fn serve(shim: &impl Shim, arguments: &Arguments) -> Result<(), CommandError> {
    // The terminal and the group of containerd are left. A process that leads its group already stays there.
    let _ = rustix::process::setsid();
    let failed = CommandError::io("take over the socket of the shim");
    let listener = io::stdin().as_fd().try_clone_to_owned().map_err(&failed)?;
    let listener = UnixListener::from(listener);
    listener.set_nonblocking(true).map_err(&failed)?;
    let log = Log::open(Path::new("."));
    let group = Group {
        namespace: arguments.namespace.clone(),
        containerd: arguments.address.clone(),
        id: arguments.id.clone(),
    };
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(CommandError::io("start the runtime of the shim"))?;
    let served = runtime.block_on(async {
        let server = Server::new(
            shim.pod(&group),
            &group,
            Path::new(&arguments.ttrpc_address),
            log.clone(),
        );
        server.serve(listener).await
    });
    served.map_err(CommandError::io("serve the tasks of the shim"))
}
