use std::path::PathBuf;

use msb_agent_protocol::Bytes;
use msb_agent_protocol::v1::AcceptRequest;
use msb_sandbox_model::{AGENT_PATH, AGENT_VARIABLE, GuestSettings};

use crate::SocketsError;

/// The mode of the SSH agent's socket: it is for all users of the guest, which the host does not tell apart.
const AGENT_MODE: u32 = 0o666;

/// A socket of the host, and the one in the guest that leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Door {
    pub(crate) host: PathBuf,
    pub(crate) guest: String,
    pub(crate) owner: String,
    pub(crate) mode: u32,
    pub(crate) kind: Kind,
}

/// The bytes that pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All.
    Plain,
    /// Requests to an SSH agent that list keys or sign, and their answers.
    SshAgent,
}

impl Door {
    /// Returns the doors of a sandbox with these settings. `agent` is the path of the host's SSH agent, if it has one.
    pub(crate) fn all(
        settings: &GuestSettings,
        agent: Option<PathBuf>,
    ) -> Result<Vec<Self>, SocketsError> {
        let plain = settings.sockets.iter().map(|forward| Self {
            host: forward.host_path().into(),
            guest: forward.guest_path().to_owned(),
            owner: forward.owner(),
            mode: forward.mode(),
            kind: Kind::Plain,
        });
        let mut doors: Vec<Self> = plain.collect();
        if settings.forward_agent {
            doors.push(Self {
                host: agent.ok_or(SocketsError::NoAgent)?,
                guest: AGENT_PATH.to_owned(),
                owner: String::new(),
                mode: AGENT_MODE,
                kind: Kind::SshAgent,
            });
        }
        Ok(doors)
    }

    /// Returns the call by which the guest's agent listens.
    pub(crate) fn request(&self) -> AcceptRequest {
        AcceptRequest {
            path: Bytes::copy_from_slice(self.guest.as_bytes()),
            owner: self.owner.clone(),
            mode: Some(self.mode),
            parents: true,
        }
    }
}

/// Returns the absolute path of this process's SSH agent. A variable that is empty is none.
pub(crate) fn agent_path() -> Option<PathBuf> {
    std::path::absolute(std::env::var_os(AGENT_VARIABLE)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_is_a_door_of_another_kind() {
        let settings = |forward_agent| {
            let mut settings = GuestSettings::default();
            let sockets = vec!["/a:/b:mode=600".parse().expect("a forward")];
            (settings.sockets, settings.forward_agent) = (sockets, forward_agent);
            settings
        };
        let doors = Door::all(&settings(false), None).expect("doors");
        assert_eq!(doors.len(), 1);
        let missing = Door::all(&settings(true), None).expect_err("no agent");
        assert!(missing.to_string().contains("SSH_AUTH_SOCK"), "{missing}");
        let doors = Door::all(&settings(true), Some("/agent".into())).expect("doors");
        let of_agent = doors.last().expect("a door");
        assert_eq!(of_agent.kind, Kind::SshAgent);
        assert_eq!(&of_agent.request().path[..], AGENT_PATH.as_bytes());
    }
}
