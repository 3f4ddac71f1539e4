use msb_agent_protocol::Bytes;
use msb_agent_protocol::v1::{Exec, WindowSize};
use serde::{Deserialize, Serialize};

use crate::Ulimit;

/// The rows and columns of a terminal that nobody has looked at yet.
const WINDOW: (u32, u32) = (24, 80);

/// A command as a sandbox's description holds it: image and user are agreed on everything. Its words
/// are text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The program and its arguments. Nothing: no command, the sandbox lives until it is stopped.
    pub argv: Vec<String>,
    /// The whole environment, `NAME=value`.
    pub env: Vec<String>,
    /// Empty: `/`.
    pub working_directory: String,
    /// `user[:group]`; empty: root.
    pub user: String,
    /// Whether it gets a terminal.
    pub terminal: bool,
    /// Whether its standard input is kept open for who attaches.
    pub stdin: bool,
    /// Groups of it and of later commands, names or numbers, beside those that its user has.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Its limits, and those of later commands.
    #[serde(default)]
    pub ulimits: Vec<Ulimit>,
}

impl Process {
    /// The same command as the agent takes it. `window` is its terminal's rows and columns.
    pub(crate) fn exec(&self, window: Option<(u32, u32)>) -> Exec {
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
        }
    }
}
