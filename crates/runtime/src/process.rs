use msb_agent_protocol::Bytes;
use msb_agent_protocol::v1::{Exec, Namespaces, WindowSize};
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
    /// The namespace of process IDs, also of later commands.
    #[serde(default)]
    pub pid: PidNamespace,
    /// True if process 1 is an init that starts the command.
    #[serde(default)]
    pub init: bool,
}

/// The namespace of process IDs that commands see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PidNamespace {
    /// The sandbox's own, in which the main command is process 1.
    #[default]
    Private,
    /// The machine's namespace, in which the guest's agent is process 1.
    Host,
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

    /// Returns the main command as the agent's request.
    pub fn main_exec(&self, window: Option<(u32, u32)>) -> Exec {
        let namespaces = match self.pid {
            PidNamespace::Host => Namespaces::Machine,
            PidNamespace::Private if self.init => Namespaces::NewWithInit,
            PidNamespace::Private => Namespaces::New,
        };
        Exec {
            namespaces: namespaces.into(),
            ..self.exec(window)
        }
    }

    /// Returns true if the sandbox has its own namespaces and no main command that could make them.
    pub(crate) fn needs_holder(&self) -> bool {
        self.argv.is_empty() && self.pid == PidNamespace::Private
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
                pid,
                init,
                ..Process::default()
            };
            assert_eq!(process.exec(None).namespaces(), Namespaces::Joined);
            process.main_exec(None).namespaces()
        };
        let (own, host) = (PidNamespace::Private, PidNamespace::Host);
        assert_eq!(namespaces(own, false), Namespaces::New);
        assert_eq!(namespaces(own, true), Namespaces::NewWithInit);
        // The agent is the init of the machine.
        assert_eq!(namespaces(host, false), Namespaces::Machine);
        assert_eq!(namespaces(host, true), Namespaces::Machine);
    }

    #[test]
    fn a_description_of_an_older_msb_gets_a_namespace_of_its_own() {
        let json = r#"{"argv": [], "env": [], "working_directory": "", "user": "",
            "terminal": false, "stdin": false}"#;
        let process: Process = serde_json::from_str(json).expect("read");
        assert!(process.needs_holder() && !process.init);
    }
}
