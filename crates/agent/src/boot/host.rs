//! What makes the guest a host: its name, its loopback, its limits.

#![expect(
    unsafe_code,
    reason = "interface flags are set by an ioctl that no safe wrapper has"
)]

use std::io;
use std::os::fd::AsRawFd as _;

use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::system::sethostname;

use crate::console;

/// The word on the kernel's command line that names the sandbox.
const HOSTNAME_VARIABLE: &str = "msb_hostname";
const DEFAULT_HOSTNAME: &str = "msb";
/// As many open files as docker allows.
const OPEN_FILES_MAX: u64 = 1 << 20;

/// Names the guest, raises limits, brings the loopback up. A sandbox that lacks one of them is
/// still a sandbox, so failures are said and passed over.
pub(super) fn set_up() {
    let name = std::env::var(HOSTNAME_VARIABLE).unwrap_or_else(|_| DEFAULT_HOSTNAME.to_owned());
    tell(
        "set the host name",
        sethostname(name.as_bytes()).map_err(Into::into),
    );
    let limit = Rlimit {
        current: Some(OPEN_FILES_MAX),
        maximum: Some(OPEN_FILES_MAX),
    };
    tell(
        "raise the limit of open files",
        setrlimit(Resource::Nofile, limit).map_err(Into::into),
    );
    tell("bring the loopback up", bring_loopback_up());
}

fn tell(action: &str, outcome: io::Result<()>) {
    if let Err(error) = outcome {
        console::say(&format!("cannot {action}: {error}"));
    }
}

fn bring_loopback_up() -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: `ifreq` is plain data for which all zeros is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (slot, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *slot = libc::c_char::try_from(*byte).unwrap_or_default();
    }
    let flags = libc::IFF_UP | libc::IFF_RUNNING;
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(flags).unwrap_or_default();
    // SAFETY: the descriptor is an open socket, SIOCSIFFLAGS takes a pointer to an `ifreq`, and
    // `request` lives until the call returns.
    let outcome = unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw mut request,
        )
    };
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
