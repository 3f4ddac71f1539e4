use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use msb_agent_protocol::v1::{StopFirst, WindowSize};
use tokio::time::{Duration, Instant, sleep};

use super::signals::Group;
use super::streams::Terminal;

/// The time that a host may take to read how the commands ended before the machine ends.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(1);
/// The time for which the last events of a command may leave through the port.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_millis(20);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The running commands, by the number that the host identifies them by.
#[derive(Debug, Clone, Default)]
pub(crate) struct Running(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    last_id: u64,
    stage: Stage,
    is_paused: bool,
    commands: HashMap<u64, Entry>,
}

/// The stage of the sandbox, which decides whether commands and calls on files are accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Open,
    /// The root is unmounted, or about to be, until the host has it mounted again.
    Unmounted,
    /// The sandbox is shutting down.
    Closed,
}

#[derive(Debug)]
struct Entry {
    group: Group,
    terminal: Option<Terminal>,
}

impl Running {
    /// Registers a command and returns its number.
    pub(super) fn enter(&self, group: Group, terminal: Option<Terminal>) -> u64 {
        let mut table = self.table();
        table.last_id += 1;
        let id = table.last_id;
        table.commands.insert(id, Entry { group, terminal });
        id
    }

    pub(super) fn leave(&self, id: u64) {
        self.table().commands.remove(&id);
    }

    /// Sends the signal with this number. `None` if the command is not running.
    pub(crate) fn signal(&self, id: u64, signal: i32) -> Option<()> {
        let table = self.table();
        table
            .commands
            .get(&id)
            .map(|entry| entry.group.signal(signal))
    }

    /// Sends a signal to a command's process, not to its group. Waits until the command has ended,
    /// or until the deadline.
    pub(crate) async fn end(&self, first: StopFirst, deadline: Instant) {
        let is_there = |table: &Table| table.commands.contains_key(&first.exec_id);
        if let Some(entry) = self.table().commands.get(&first.exec_id) {
            entry.group.signal_leader(first.signal);
        }
        while is_there(&self.table()) && Instant::now() < deadline {
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Sets the size of the command's terminal, if it has one. `None` if the command is not
    /// running.
    pub(crate) fn resize(&self, id: u64, size: WindowSize) -> Option<()> {
        let table = self.table();
        let entry = table.commands.get(&id)?;
        if let Some(terminal) = &entry.terminal {
            terminal.resize(size);
        }
        Some(())
    }

    /// Refuses further commands for good. Returns false if that was so before.
    pub(crate) fn close(&self) -> bool {
        std::mem::replace(&mut self.table().stage, Stage::Closed) != Stage::Closed
    }

    /// Refuses further commands until [`reopen`](Self::reopen). Returns false and changes nothing if they
    /// are refused.
    pub(crate) fn close_for_unmount(&self) -> bool {
        let mut table = self.table();
        let is_open = table.stage == Stage::Open;
        if is_open {
            table.stage = Stage::Unmounted;
        }
        is_open
    }

    /// Accepts commands again, unless the sandbox is shutting down.
    pub(crate) fn reopen(&self) {
        let mut table = self.table();
        if table.stage == Stage::Unmounted {
            table.stage = Stage::Open;
        }
    }

    /// Returns the reason why commands and calls on files are refused; `None` if they are accepted.
    pub(crate) fn refusal(&self) -> Option<&'static str> {
        match self.table().stage {
            Stage::Open => None,
            Stage::Unmounted => Some("the sandbox is being rolled back"),
            Stage::Closed => Some("the sandbox is shutting down"),
        }
    }

    /// Returns true if commands and calls on files are refused.
    pub(crate) fn is_closed(&self) -> bool {
        self.table().stage != Stage::Open
    }

    /// Returns true if the sandbox is shutting down.
    pub(crate) fn is_closed_for_good(&self) -> bool {
        self.table().stage == Stage::Closed
    }

    /// Sets whether commands are refused because the sandbox is paused. Returns the value before.
    pub(crate) fn set_paused(&self, is_paused: bool) -> bool {
        std::mem::replace(&mut self.table().is_paused, is_paused)
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.table().is_paused
    }

    /// Waits until the host has read how every command ended, or `LISTEN_TIMEOUT` has passed.
    pub(crate) async fn all_left(&self) {
        let deadline = Instant::now() + LISTEN_TIMEOUT;
        while !self.table().commands.is_empty() && Instant::now() < deadline {
            sleep(POLL_INTERVAL).await;
        }
        // The connection's own task is still sending the last events.
        sleep(LAST_WORDS_TIMEOUT).await;
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_that_shuts_down_is_not_opened_again() {
        let running = Running::default();
        assert!(running.refusal().is_none() && running.close_for_unmount());
        assert!(!running.close_for_unmount(), "it is unmounted");
        assert_eq!(running.refusal(), Some("the sandbox is being rolled back"));
        running.reopen();
        assert!(!running.is_closed() && running.close_for_unmount());
        assert!(running.close(), "it was not shut down before");
        running.reopen();
        assert!(running.is_closed_for_good() && !running.close());
    }
}
