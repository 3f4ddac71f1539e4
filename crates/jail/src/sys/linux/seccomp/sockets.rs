//! The allow list of the process of forwarded sockets: calls of the same libraries as the network process's, without
//! those that open files and accept connections.

use libc::c_long;
use seccompiler::BackendError;

use super::network::of_client;
use super::{Rules, unconditional};

/// Resolving the path of a socket, and comparing its listener's user with the process's own.
const OWN: &[c_long] = &[libc::SYS_geteuid, libc::SYS_readlinkat];

/// Calls that the C library makes on x86-64 in place of some of the above.
#[cfg(target_arch = "x86_64")]
const OF_X86: &[c_long] = &[libc::SYS_lstat, libc::SYS_readlink, libc::SYS_stat];
#[cfg(not(target_arch = "x86_64"))]
const OF_X86: &[c_long] = &[];

/// Returns the rules of the allowed calls.
pub(super) fn rules() -> Result<Rules, BackendError> {
    let mut rules = of_client(&[libc::AF_UNIX])?;
    rules.extend(unconditional(&[OWN, OF_X86].concat()));
    Ok(rules)
}
