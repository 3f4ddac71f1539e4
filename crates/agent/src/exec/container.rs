//! The agent's own program as a process of a container.

use std::os::fd::OwnedFd;
use std::process::Command;

use guest_container::PROGRAM_NAME;
use msb_agent_protocol::Bytes;
use msb_agent_protocol::v1::Failure;
use rustix::process::Uid;

use super::accounts::Identity;
use super::failure::refused_action;
use super::leader::Leader;
use super::namespaces::{Isolation, NamespacesOf};
use super::own_program;
use super::process::Prepared;
use super::program::Program;
use super::streams::{no_streams, pipe_streams};

/// A process of a container, which is the agent's own program at first, and takes the container's rights itself.
///
/// It is started outside of the container's group: that may be frozen, and the agent waits for the program's start.
pub(crate) struct ContainerProcess {
    /// The words of the program.
    pub(crate) words: Vec<String>,
    /// The namespaces of the container, or that of process IDs which its first process shares; `None` for a first
    /// process in a new one.
    pub(crate) namespaces: Option<NamespacesOf>,
    /// The descriptors that it inherits, which the words name.
    pub(crate) kept: Vec<OwnedFd>,
    /// The streams; `None` if it opens a terminal itself.
    pub(crate) pipes: Option<Pipes>,
}

/// The pipes of a process of a container.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pipes {
    /// True if standard input will be sent.
    pub(crate) has_stdin: bool,
    /// The user that the pipes belong to.
    pub(crate) owner: u32,
}

/// Prepares a process of a container.
pub(super) fn prepare(process: ContainerProcess) -> Result<Prepared, Failure> {
    let words = process.words.iter().map(String::as_bytes);
    let replacement = own_program::replacement(words, &[])?;
    let mut command = Command::new(PROGRAM_NAME);
    let streams = match process.pipes {
        Some(pipes) => {
            let owner = Uid::from_raw(pipes.owner);
            pipe_streams(&mut command, pipes.has_stdin, owner)
        }
        None => no_streams(&mut command),
    };
    let streams = streams.map_err(|error| refused_action("open the process's streams", &error))?;
    let isolation = process
        .namespaces
        .map_or(Isolation::NewContainer, Isolation::Container);
    let leader = Leader {
        identity: Identity {
            uid: 0,
            gid: 0,
            groups: Vec::new(),
            home: String::new(),
        },
        has_terminal: false,
        joined: None,
        control_group: None,
        must_join: false,
        isolation: isolation.clone(),
        directory: c"/".to_owned(),
        limits: Vec::new(),
        replacement,
        kept: process.kept,
    };
    leader.set_up(&mut command);
    Ok(Prepared {
        command,
        streams,
        program: Program {
            word: Bytes::from_static(PROGRAM_NAME.as_bytes()),
            path: PROGRAM_NAME.into(),
            directory: "/".into(),
        },
        control_group: None,
        isolation,
    })
}
