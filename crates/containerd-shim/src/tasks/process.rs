//! A process: its state, which changes together with its events, and its input and output.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use containerd_protocol::events::{
    TOPIC_EXEC_STARTED, TOPIC_EXIT, TOPIC_OOM, TOPIC_PAUSED, TOPIC_RESUMED, TOPIC_START,
    TaskExecStarted, TaskExit, TaskOom, TaskPaused, TaskResumed, TaskStart,
};
use containerd_protocol::task::TaskStatus;
use tokio::sync::{Mutex, watch};

use super::TaskError;
use super::phase::{End, Phase};
use crate::events::EventQueue;
use crate::stdio::{Copies, StdioPaths};
use crate::{Exit, ProcessName, clock};

/// The status of a process that ended with its machine, or before it was started: killed by SIGKILL.
pub(crate) const KILLED: Exit = Exit {
    status: 137,
    is_out_of_memory: false,
};

/// A process of a container.
pub(crate) struct Process {
    pub(crate) name: ProcessName,
    pub(crate) stdio: StdioPaths,
    /// `Process` of the OCI runtime specification in JSON; empty for a main process.
    pub(crate) spec: Vec<u8>,
    pub(crate) copies: Copies,
    /// Held while the process is started or deleted.
    pub(crate) gate: Mutex<()>,
    phase: watch::Sender<Phase>,
    /// True while the processes of the container are paused; only for a main process. It changes while the phase is
    /// locked.
    is_paused: AtomicBool,
    events: Arc<EventQueue>,
}

impl Process {
    pub(crate) fn new(
        name: ProcessName,
        stdio: StdioPaths,
        spec: Vec<u8>,
        events: &Arc<EventQueue>,
    ) -> Self {
        Self {
            name,
            stdio,
            spec,
            copies: Copies::default(),
            gate: Mutex::default(),
            phase: watch::Sender::new(Phase::Created),
            is_paused: AtomicBool::new(false),
            events: Arc::clone(events),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Returns the state as containerd names it.
    pub(crate) fn status(&self) -> TaskStatus {
        match self.phase() {
            Phase::Running if self.is_paused.load(Ordering::SeqCst) => TaskStatus::Paused,
            phase => phase.status(),
        }
    }

    /// Records that the processes of the container were paused or go on, with the event. Returns false if the process
    /// is not running.
    pub(crate) fn set_paused(&self, is_paused: bool) -> bool {
        let mut is_running = false;
        self.phase.send_if_modified(|phase| {
            is_running = *phase == Phase::Running;
            if is_running && self.is_paused.swap(is_paused, Ordering::SeqCst) != is_paused {
                self.send_paused(is_paused);
            }
            false
        });
        is_running
    }

    /// Records the start, with its event. Returns false if the process was not waiting for it.
    pub(crate) fn begin(&self, pid: u32) -> bool {
        // The event is sent while the state is locked: an end can only follow.
        self.phase.send_if_modified(|phase| {
            let is_begun = phase.begin();
            if is_begun {
                self.send_start(pid);
            }
            is_begun
        })
    }

    /// Records the end, with its events, unless one is recorded.
    pub(crate) fn finish(&self, exit: Exit, pid: u32) {
        let end = End {
            status: exit.status,
            at: clock::now(),
        };
        self.phase.send_if_modified(|phase| {
            let is_first = phase.finish(end);
            if is_first {
                self.send_exit(exit, end, pid);
            }
            is_first
        });
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) -> Result<End, TaskError> {
        let mut phase = self.phase.subscribe();
        // The sender lives as long as this call.
        let ended = phase.wait_for(|phase| phase.end().is_some()).await;
        ended
            .ok()
            .and_then(|phase| phase.end())
            .ok_or(TaskError::Defect)
    }

    fn send_start(&self, pid: u32) {
        let container_id = self.name.container_id.clone();
        match self.name.exec_id.clone() {
            Some(exec_id) => {
                let event = TaskExecStarted {
                    container_id,
                    exec_id,
                    pid,
                };
                self.events.push(TOPIC_EXEC_STARTED, &event);
            }
            None => self
                .events
                .push(TOPIC_START, &TaskStart { container_id, pid }),
        }
    }

    fn send_paused(&self, is_paused: bool) {
        let container_id = self.name.container_id.clone();
        if is_paused {
            self.events.push(TOPIC_PAUSED, &TaskPaused { container_id });
        } else {
            self.events
                .push(TOPIC_RESUMED, &TaskResumed { container_id });
        }
    }

    fn send_exit(&self, exit: Exit, end: End, pid: u32) {
        let ProcessName {
            container_id,
            exec_id,
        } = self.name.clone();
        // Clients read the cause of an end when they see the end.
        if exit.is_out_of_memory {
            let container_id = container_id.clone();
            self.events.push(TOPIC_OOM, &TaskOom { container_id });
        }
        let event = TaskExit {
            id: exec_id.unwrap_or_else(|| container_id.clone()),
            container_id,
            pid,
            exit_status: end.status,
            exited_at: Some(end.at),
        };
        self.events.push(TOPIC_EXIT, &event);
    }
}
