use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use guest_container::Group;
use msb_agent_protocol::v1::{
    ContainerExited, ContainerPhase, ContainerState, ExitStatus, exit_status,
};
use msb_agent_protocol::{Bytes, Status};
use tokio::sync::{oneshot, watch};

use super::ground::UpperDisk;
use super::memory::Memory;
use crate::exec::{NamespacesOf, Process, Terminal};

/// The number that a shell adds to the number of the signal that killed a command.
const KILLED: u32 = 128;
/// SIGKILL.
const KILL: u32 = 9;

/// A container whose first process was made.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) id: String,
    /// The first process, as the agent sees it.
    pub(super) pid: i32,
    pub(super) group: Group,
    pub(super) namespaces: NamespacesOf,
    /// The encoded plan, which has the filter of further processes.
    pub(super) plan: Bytes,
    pub(super) upper: Option<UpperDisk>,
    pub(super) terminal: Option<Terminal>,
    /// The pod's memory that it uses, which is unmounted with the last container that does.
    _memory: Vec<Memory>,
    state: Mutex<State>,
    exited: watch::Sender<Option<ContainerExited>>,
    /// The number of processes that the kernel has killed because of the memory limit, as it was last reported.
    killed_for_memory: AtomicU64,
}

#[derive(Debug)]
struct State {
    /// The first process, until it is started.
    waiting: Option<Waiting>,
    is_paused: bool,
}

/// The first process, which waits for its start.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) process: Process,
    pub(super) control: UnixStream,
    pub(super) ended: oneshot::Receiver<ExitStatus>,
}

/// The parts of a container that are made before it.
pub(super) struct Parts {
    pub(super) id: String,
    pub(super) pid: i32,
    pub(super) group: Group,
    pub(super) namespaces: NamespacesOf,
    pub(super) plan: Bytes,
    pub(super) upper: Option<UpperDisk>,
    pub(super) terminal: Option<Terminal>,
    pub(super) memory: Vec<Memory>,
}

impl Container {
    pub(super) fn new(parts: Parts, waiting: Waiting) -> Self {
        let (exited, _) = watch::channel(None);
        Self {
            id: parts.id,
            pid: parts.pid,
            group: parts.group,
            namespaces: parts.namespaces,
            plan: parts.plan,
            upper: parts.upper,
            terminal: parts.terminal,
            _memory: parts.memory,
            state: Mutex::new(State {
                waiting: Some(waiting),
                is_paused: false,
            }),
            exited,
            killed_for_memory: AtomicU64::new(0),
        }
    }

    /// Returns the number of the first process.
    pub(super) fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Takes the first process, to start it.
    pub(super) fn take_waiting(&self) -> Result<Waiting, Status> {
        self.running()?;
        let mut state = self.state();
        if state.is_paused {
            return Err(self.is("is paused"));
        }
        let waiting = state.waiting.take();
        waiting.ok_or_else(|| self.is("was started before"))
    }

    /// Fails if the first process has ended.
    pub(super) fn running(&self) -> Result<(), Status> {
        if self.exited.borrow().is_none() {
            return Ok(());
        }
        Err(self.is("has ended"))
    }

    /// Fails if the container starts no further process.
    pub(super) fn joinable(&self) -> Result<(), Status> {
        self.running()?;
        let state = self.state();
        let reason = match &*state {
            State {
                waiting: Some(_), ..
            } => "was not started",
            State {
                is_paused: true, ..
            } => "is paused",
            State { .. } => return Ok(()),
        };
        Err(self.is(reason))
    }

    /// Returns the status of a call that the state of the container forbids.
    fn is(&self, state: &str) -> Status {
        Status::failed_precondition(format!("the container {} {state}", self.id))
    }

    /// Sets whether the container starts no further process because it is frozen.
    pub(super) fn set_paused(&self, is_paused: bool) {
        self.state().is_paused = is_paused;
    }

    /// Notes the end of the first process.
    pub(super) fn note_exit(&self, exited: ContainerExited) {
        self.exited.send_replace(Some(exited));
    }

    /// Waits until the first process has ended.
    pub(super) async fn ended(&self) {
        let mut exited = self.exited.subscribe();
        // The sender lives as long as this value.
        let _ = exited.wait_for(Option::is_some).await;
    }

    /// Returns what is known of the container.
    pub(super) fn describe(&self) -> ContainerState {
        let exited = *self.exited.borrow();
        let phase = match exited {
            Some(_) => ContainerPhase::Stopped,
            None if self.state().waiting.is_some() => ContainerPhase::Created,
            None => ContainerPhase::Running,
        };
        ContainerState {
            phase: phase.into(),
            pid: self.pid(),
            exited,
        }
    }

    /// Returns the number of processes that the kernel has killed because of the memory limit since the last call, and
    /// the number of all.
    pub(super) fn take_killed_for_memory(&self) -> (u64, u64) {
        let all = self.group.stats().memory_oom_kill.unwrap_or(0);
        let before = self.killed_for_memory.fetch_max(all, Ordering::Relaxed);
        (all.saturating_sub(before), all)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the exit code of a status: that of the process, or 128 and the number of the signal that killed it. A status
/// that was lost means that PID 1 ends.
pub(super) fn exit_code(status: Option<ExitStatus>) -> u32 {
    match status.and_then(|status| status.status) {
        Some(exit_status::Status::Code(code)) => code,
        Some(exit_status::Status::Signal(signal)) => KILLED.saturating_add(signal),
        None => KILLED + KILL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_added_to_128() {
        let status = |status| {
            exit_code(Some(ExitStatus {
                status: Some(status),
                ..ExitStatus::default()
            }))
        };
        assert_eq!(status(exit_status::Status::Code(3)), 3);
        assert_eq!(status(exit_status::Status::Signal(15)), 143);
        assert_eq!(exit_code(None), 137);
    }
}
