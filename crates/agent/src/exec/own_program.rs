//! The agent's own program as a command of the sandbox. Its first word says what it is to be.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::OnceLock;

use guest_container::Replacement;
use msb_agent_protocol::v1::Failure;
use rustix::fs::{Mode, OFlags, openat};

use super::failure::{bad_request, refused_action};
use crate::boot::{BOOT_ROOT, own_mounts};

/// The program. It stays open, because the sandbox's root may hide it.
static PROGRAM: OnceLock<OwnedFd> = OnceLock::new();

/// Returns the program with these words. Every user of the guest may execute it.
pub(super) fn replacement<'a>(
    words: impl Iterator<Item = &'a [u8]>,
    environment: &[(OsString, OsString)],
) -> Result<Replacement, Failure> {
    if PROGRAM.get().is_none() {
        let program =
            open_program().map_err(|error| refused_action("open the agent's program", &error))?;
        PROGRAM.get_or_init(|| program);
    }
    let program = PROGRAM.get().expect("it was just opened");
    Replacement::of_file(program.as_fd(), words, environment)
        .map_err(|_| bad_request("an argument contains a NUL byte"))
}

/// Opens the agent's own program, on the boot disk.
fn open_program() -> io::Result<OwnedFd> {
    let boot_disk = own_mounts::open(BOOT_ROOT)?;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat(boot_disk, "init", flags, Mode::empty())?)
}
