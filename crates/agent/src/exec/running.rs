use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use msb_agent_protocol::v1::{StopFirst, WindowSize};
use tokio::time::{Duration, Instant, sleep};

use super::process::Terminal;
use super::signals::Group;

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
    is_closed: bool,
    is_paused: bool,
    commands: HashMap<u64, Entry>,
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

    /// Refuses further commands. Returns true if they were accepted before.
    pub(crate) fn close(&self) -> bool {
        let was_closed = std::mem::replace(&mut self.table().is_closed, true);
        !was_closed
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.table().is_closed
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
