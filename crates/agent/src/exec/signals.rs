use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// The process group of a command, which it leads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    leader: Option<Pid>,
}

impl Group {
    pub(super) fn with_leader(pid: i32) -> Self {
        Self {
            leader: Pid::from_raw(pid),
        }
    }

    /// Sends the signal with this number; an unknown number is ignored.
    pub(super) fn signal(self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            self.send(signal);
        }
    }

    /// Sends the signal to the group's leader alone.
    pub(super) fn signal_leader(self, number: i32) {
        if let (Some(leader), Some(signal)) = (self.leader, Signal::from_named_raw(number)) {
            // The leader may have ended.
            let _ = kill_process(leader, signal);
        }
    }

    pub(super) fn kill(self) {
        self.send(Signal::KILL);
    }

    fn send(self, signal: Signal) {
        if let Some(leader) = self.leader {
            // The group may have ended.
            let _ = kill_process_group(leader, signal);
        }
    }
}
