use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::control_group::ControlGroup;

/// The process group of a command, which it leads, and its control group.
#[derive(Debug, Clone)]
pub(super) struct Group {
    leader: Option<Pid>,
    control_group: Option<Arc<ControlGroup>>,
}

impl Group {
    pub(super) fn new(pid: i32, control_group: Option<ControlGroup>) -> Self {
        Self {
            leader: Pid::from_raw(pid),
            control_group: control_group.map(Arc::new),
        }
    }

    /// Sends the signal with this number to the process group; an unknown number is ignored.
    /// SIGKILL is for every process that the command has started.
    pub(super) fn signal(&self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            self.send(signal);
        }
    }

    /// Sends the signal to the group's leader alone.
    pub(super) fn signal_leader(&self, number: i32) {
        if let (Some(leader), Some(signal)) = (self.leader, Signal::from_named_raw(number)) {
            // The leader may have ended.
            let _ = kill_process(leader, signal);
        }
    }

    /// Kills every process that the command has started.
    pub(super) fn kill(&self) {
        self.send(Signal::KILL);
    }

    fn send(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // The group may have ended.
            let _ = kill_process_group(leader, signal);
        }
        if signal == Signal::KILL
            && let Some(group) = &self.control_group
        {
            group.kill();
        }
    }
}
