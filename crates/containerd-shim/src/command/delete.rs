//! `delete`: removes what is left of a shim that has died.

use std::env;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use containerd_protocol::Message as _;
use containerd_protocol::task::DeleteResponse;
use fs_err as fs;

use super::CommandError;
use super::address::to_path;
use super::arguments::Arguments;
use crate::bundle::Membership;
use crate::{Leftovers, Shim, clock};

/// The exit status of a task whose shim has died: killed by SIGKILL.
const KILLED: u32 = 137;
/// The most bytes of an address.
const ADDRESS_MAX_BYTES: usize = 4096;

/// Removes what is left of a container or of its pod, and can be called again. Returns the answer for containerd.
pub(super) fn delete(shim: &impl Shim, arguments: &Arguments) -> Result<Vec<u8>, CommandError> {
    let bundle = match &arguments.bundle {
        Some(bundle) => bundle.clone(),
        None => env::current_dir().map_err(CommandError::io("find the bundle"))?,
    };
    // A bundle can be incomplete, or gone. Its container then counts as a group, because killing too little would leave
    // a machine without an owner.
    let membership = Membership::read(&bundle).unwrap_or(Membership::Single);
    let group_id = membership.group_id(&arguments.id).to_owned();
    let leftovers = Leftovers {
        namespace: arguments.namespace.clone(),
        containerd: arguments.address.clone(),
        id: arguments.id.clone(),
        group_id,
        bundle: bundle.clone(),
    };
    shim.remove(&leftovers)
        .map_err(CommandError::io("remove what is left of the machine"))?;
    if let Some(socket) = dead_socket(&bundle) {
        match fs::remove_file(socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(CommandError::io("remove the socket of the shim")(error));
            }
            _ => {}
        }
    }
    let response = DeleteResponse {
        pid: 0,
        exit_status: KILLED,
        exited_at: Some(clock::now()),
    };
    Ok(response.encode_to_vec())
}

/// Returns the socket of a bundle's shim; `None` if it is not known, or a shim listens there.
fn dead_socket(bundle: &Path) -> Option<PathBuf> {
    let address = fs::read_to_string(bundle.join("address")).ok()?;
    let is_address = address.len() <= ADDRESS_MAX_BYTES && address.starts_with("unix:///");
    let socket = is_address.then(|| to_path(&address).to_owned())?;
    UnixStream::connect(&socket).is_err().then_some(socket)
}
