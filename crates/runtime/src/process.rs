use msb_agent_protocol::Bytes;
use msb_agent_protocol::v1::{Exec, Namespaces, WindowSize};
use msb_sandbox_model::{GuestSettings, PidNamespace};
use serde::{Deserialize, Serialize};

use crate::Ulimit;

/// The rows and columns of a terminal until its size is known.
const WINDOW: (u32, u32) = (24, 80);

/// A command in a sandbox's description, made from the image's config and the user's settings.
/// Its arguments and variables are text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The program and its arguments. If empty, there is no command, and the sandbox runs until it
    /// is stopped.
    pub argv: Vec<String>,
    /// The whole environment, as `NAME=value`.
    pub env: Vec<String>,
    /// The working directory; `/` if empty.
    pub working_directory: String,
    /// The user as `user[:group]`; root if empty.
    pub user: String,
    /// True if the command gets a terminal.
    pub terminal: bool,
    /// True if the command's standard input is kept open for attached clients.
    pub stdin: bool,
    /// Groups besides the user's, as names or numbers, for this and later commands.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Limits of this and later commands.
    #[serde(default)]
    pub ulimits: Vec<Ulimit>,
}

impl Process {
    /// Returns the command as the agent's request. `window` is the terminal's rows and columns.
    pub fn exec(&self, window: Option<(u32, u32)>) -> Exec {
        let (rows, columns) = window.unwrap_or(WINDOW);
        let bytes = |words: &[String]| words.iter().cloned().map(Bytes::from).collect();
        Exec {
            argv: bytes(&self.argv),
            env: bytes(&self.env),
            working_directory: self.working_directory.clone().into(),
            user: self.user.clone(),
            terminal: self.terminal.then_some(WindowSize { rows, columns }),
            stdin: self.stdin,
            groups: self.groups.clone(),
            ulimits: self.ulimits.iter().map(Into::into).collect(),
            working_directory_must_exist: false,
            namespaces: Namespaces::Joined.into(),
        }
    }

    /// Returns the main command of a guest with these settings as the agent's request.
    pub fn main_exec(&self, guest: &GuestSettings, window: Option<(u32, u32)>) -> Exec {
        let namespaces = match guest.pid {
            PidNamespace::Host => Namespaces::Machine,
            PidNamespace::Private if guest.init => Namespaces::NewWithInit,
            PidNamespace::Private => Namespaces::New,
        };
        Exec {
            namespaces: namespaces.into(),
            ..self.exec(window)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_command_is_process_1_unless_the_machines_own_is_asked_for() {
        let namespaces = |pid, init| {
            let process = Process {
                argv: vec!["true".to_owned()],
                ..Process::default()
            };
            assert_eq!(process.exec(None).namespaces(), Namespaces::Joined);
            let mut guest = GuestSettings::default();
            (guest.pid, guest.init) = (pid, init);
            process.main_exec(&guest, None).namespaces()
        };
        let (own, host) = (PidNamespace::Private, PidNamespace::Host);
        assert_eq!(namespaces(own, false), Namespaces::New);
        assert_eq!(namespaces(own, true), Namespaces::NewWithInit);
        // The agent is the init of the machine.
        assert_eq!(namespaces(host, false), Namespaces::Machine);
        assert_eq!(namespaces(host, true), Namespaces::Machine);
    }
}
