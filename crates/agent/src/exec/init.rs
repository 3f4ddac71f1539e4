//! The command that makes the agent's program process 1 of the sandbox.

use std::ffi::OsString;

use guest_container::Replacement;
use msb_agent_protocol::v1::{Exec, Failure, Namespaces};

use super::own_program;
use crate::boot::working_directory;
use crate::init::COMMAND_FOLLOWS;
pub(super) use crate::init::NAME;

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
    let mut words = words.peekable();
    let follows = words.peek().map(|_| COMMAND_FOLLOWS.as_bytes());
    let all = [NAME.as_bytes()].into_iter().chain(follows).chain(words);
    own_program::replacement(all, environment)
}
