//! The request for a command: the terminal and the variables that a client asks for before it.

use msb_sdk::{ExecOptions, TerminalSize, Text};

/// Starts the shell of a user, in their home directory: `/bin/sh` finds both, as a login does.
const LOGIN: &str = include_str!("login.sh");
/// The agent's program that serves files.
const SFTP: &str = "msb-sftp";

/// The number of variables of a command, and their bytes.
const VARIABLES_MAX: usize = 64;
const VARIABLES_MAX_BYTES: usize = 64 << 10;

/// The settings of a command that is not started.
#[derive(Debug, Default)]
pub(crate) struct Session {
    terminal: Option<TerminalSize>,
    variables: Vec<(String, String)>,
    /// True if the client lets the command ask its ssh-agent.
    has_agent: bool,
}

impl Session {
    /// Gives the command a terminal.
    pub(crate) fn set_terminal(&mut self, name: &str, size: TerminalSize) -> bool {
        self.terminal = Some(size);
        self.set_variable("TERM", name)
    }

    /// Gives the command a variable. Returns false if it is not valid, or there are too many.
    pub(crate) fn set_variable(&mut self, name: &str, value: &str) -> bool {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return false;
        }
        self.variables.retain(|(other, _)| other != name);
        let size = |(name, value): &(String, String)| name.len() + value.len();
        let bytes: usize = self.variables.iter().map(size).sum();
        let has_room = self.variables.len() < VARIABLES_MAX
            && bytes + name.len() + value.len() <= VARIABLES_MAX_BYTES;
        if has_room {
            self.variables.push((name.to_owned(), value.to_owned()));
        }
        has_room
    }

    /// Lets the command ask the client's ssh-agent.
    pub(crate) const fn offer_agent(&mut self) {
        self.has_agent = true;
    }

    pub(crate) const fn has_agent(&self) -> bool {
        self.has_agent
    }

    /// Returns the command of a user, for their shell; the shell itself without one.
    pub(crate) fn command(self, user: &str, command: Option<&[u8]>) -> ExecOptions {
        let words = ["/bin/sh", "-c", LOGIN, "sh", user].map(Text::from);
        let command = command.map(Text::from);
        let mut options = ExecOptions::new(words.into_iter().chain(command));
        options.env = self.variables.into_iter().collect();
        options.tty = self.terminal;
        options.user = Some(user.to_owned());
        options.stdin = true;
        options
    }

    /// Returns the server of a user's files.
    pub(crate) fn files(user: &str) -> ExecOptions {
        let mut options = ExecOptions::new([SFTP]);
        options.user = Some(user.to_owned());
        options.stdin = true;
        // Files are no commands of the history, and each of them would need a snapshot.
        options.is_unrecorded = true;
        options.snapshot = Some(false);
        options
    }
}

/// Returns the size of a terminal as the protocol has it. A size of 0 is unknown.
pub(crate) fn terminal_size(columns: u32, rows: u32) -> TerminalSize {
    let unknown = TerminalSize::default();
    let known = |count: u32, unknown| match count {
        0 => unknown,
        count => u16::try_from(count).unwrap_or(u16::MAX),
    };
    TerminalSize {
        rows: known(rows, unknown.rows),
        cols: known(columns, unknown.cols),
    }
}

#[cfg(test)]
mod tests;
