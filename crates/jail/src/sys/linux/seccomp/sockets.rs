//! The allow list of the process of forwarded sockets: calls of the same libraries as the network process's, without
//! those that open files and accept connections.

use libc::c_long;
use seccompiler::{BackendError, SeccompCmpOp};

use super::network::of_client;
use super::{Rules, conditional, unconditional};

/// Comparing a listener's user with the process's own.
const OWN: &[c_long] = &[libc::SYS_geteuid];

/// Returns the rules of the allowed calls.
pub(super) fn rules() -> Result<Rules, BackendError> {
    let mut rules = of_client(&[libc::AF_UNIX])?;
    rules.extend(unconditional(OWN));
    // Finding a socket in its directory. The kernel ignores the other flags, and the descriptor neither reads nor writes.
    let path_only = u64::from(libc::O_PATH.unsigned_abs());
    let finding = conditional(2, SeccompCmpOp::MaskedEq(path_only), path_only)?;
    rules.insert(libc::SYS_openat, vec![finding]);
    Ok(rules)
}
