#![expect(unsafe_code, reason = "real-time signals have no safe form")]

use std::sync::Arc;

use super::control_group::ControlGroup;

/// The highest number of a signal.
const SIGNAL_MAX: i32 = 64;

/// The process group of a command, which it leads, and its control group.
#[derive(Debug, Clone)]
pub(super) struct Group {
    leader: i32,
    control_group: Option<Arc<ControlGroup>>,
}

impl Group {
    pub(super) fn new(leader: i32, control_group: Option<Arc<ControlGroup>>) -> Self {
        Self {
            leader,
            control_group,
        }
    }

    /// Sends the signal with this number to the process group; an unknown number is ignored.
    /// SIGKILL is for every process that the command has started.
    pub(super) fn signal(&self, number: i32) {
        send(-self.leader, number);
        if number == libc::SIGKILL
            && let Some(group) = &self.control_group
        {
            group.kill();
        }
    }

    /// Sends the signal to the group's leader alone.
    pub(super) fn signal_leader(&self, number: i32) {
        send(self.leader, number);
    }

    /// Kills every process that the command has started.
    pub(super) fn kill(&self) {
        self.signal(libc::SIGKILL);
    }
}

/// Sends a signal to a process, or with a negative number to the process group of its leader. Numbers that mean
/// this process, its group or all processes are ignored.
pub(crate) fn send(process: i32, signal: i32) {
    if process.unsigned_abs() > 1 && (1..=SIGNAL_MAX).contains(&signal) {
        // SAFETY: the call takes two numbers. The process or the group may have ended, which is no error.
        unsafe { libc::kill(process, signal) };
    }
}
