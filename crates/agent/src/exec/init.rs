//! The command that makes the agent's program process 1 of the sandbox.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::OnceLock;

use msb_agent_protocol::v1::{Exec, Failure, Namespaces};
use rustix::fs::{Mode, OFlags, openat};

use super::failure::{bad_request, refused_action};
use super::replacement::Replacement;
use crate::boot::{BOOT_ROOT, own_mounts, working_directory};
use crate::init::COMMAND_FOLLOWS;
pub(super) use crate::init::NAME;

/// The agent's own program. It stays open, because the sandbox's root may hide it.
static PROGRAM: OnceLock<OwnedFd> = OnceLock::new();

/// Returns true if a holder is to be process 1 of this sandbox.
pub(super) fn holds() -> bool {
    working_directory::of_holder().is_some()
}

/// Returns the request for the holder: an init without a command.
pub(super) fn holder() -> Exec {
    Exec {
        namespaces: Namespaces::NewWithInit.into(),
        ..Exec::default()
    }
}

/// Returns the init that starts a command with these words, or holds the namespaces if there are none.
pub(super) fn replacement<'a>(
    words: impl Iterator<Item = &'a [u8]>,
    environment: &[(OsString, OsString)],
) -> Result<Replacement, Failure> {
    if PROGRAM.get().is_none() {
        let program = open_program().map_err(|error| refused_action("open the init", &error))?;
        PROGRAM.get_or_init(|| program);
    }
    let program = PROGRAM.get().expect("it was just opened");
    let mut words = words.peekable();
    let follows = words.peek().map(|_| COMMAND_FOLLOWS.as_bytes());
    let all = [NAME.as_bytes()].into_iter().chain(follows).chain(words);
    Replacement::of_file(program.as_fd(), all, environment)
        .map_err(|_| bad_request("an argument contains a NUL byte"))
}

/// Opens the agent's own program, on the boot disk.
fn open_program() -> io::Result<OwnedFd> {
    let boot_disk = own_mounts::open(BOOT_ROOT)?;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat(boot_disk, "init", flags, Mode::empty())?)
}
