//! `Kill`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::entry::Entry;
use super::phase::Phase;
use super::process::Process;
use super::{TaskError, Tasks, change};
use crate::machine::CALL_TIMEOUT;
use crate::{Exit, Pod, PodError, ProcessName};

/// The highest number of a signal.
const SIGNAL_MAX: u32 = 64;
/// Signals that do not end a process that has not asked for them: none, SIGCHLD, SIGCONT, SIGURG and SIGWINCH.
const HARMLESS: [u32; 5] = [0, 17, 18, 23, 28];
/// The exit status of a killed process is this and the number of the signal.
const KILLED_BY: u32 = 128;

impl<P: Pod> Tasks<P> {
    /// Sends a signal to a process, or to all processes of its container. A process that was not started ends by it, and
    /// the sandbox of a pod with its machine.
    pub(crate) async fn kill(
        self: &Arc<Self>,
        name: &ProcessName,
        signal: u32,
        all: bool,
    ) -> Result<(), TaskError> {
        if signal > SIGNAL_MAX {
            return Err(TaskError::Invalid("a signal has a number from 0 to 64"));
        }
        let (entry, process) = self.find(name)?;
        match process.phase() {
            Phase::Ended(_) => Err(TaskError::Ended(name.clone())),
            _ if entry.container.is_sandbox => {
                self.kill_sandbox(signal);
                Ok(())
            }
            Phase::Created => {
                let tasks = Arc::clone(self);
                change(async move { tasks.kill_created(&entry, &process, signal, all).await }).await
            }
            Phase::Running => self.signal(name, signal, all).await,
        }
    }

    async fn signal(&self, name: &ProcessName, signal: u32, all: bool) -> Result<(), TaskError> {
        let signalled = self.machine.pod().signal(name, signal, all);
        match self.machine.call(CALL_TIMEOUT, signalled).await {
            Err(PodError::Ended | PodError::NotFound(_)) => Err(TaskError::Ended(name.clone())),
            signalled => signalled.map_err(TaskError::pod("signal", name)),
        }
    }

    async fn kill_created(
        &self,
        entry: &Entry,
        process: &Arc<Process>,
        signal: u32,
        all: bool,
    ) -> Result<(), TaskError> {
        let gate = tokio::time::timeout(CALL_TIMEOUT, process.gate.lock()).await;
        let late = |_| TaskError::pod("signal", &process.name)(PodError::TimedOut(CALL_TIMEOUT));
        let gate = gate.map_err(late)?;
        self.check_present(process)?;
        if process.phase() != Phase::Created {
            // It was started meanwhile.
            drop(gate);
            return self.signal(&process.name, signal, all).await;
        }
        if !HARMLESS.contains(&signal) {
            if process.name.exec_id.is_none() {
                self.end_execs(entry, CALL_TIMEOUT).await;
            }
            let exit = Exit {
                status: KILLED_BY + signal,
                is_out_of_memory: false,
            };
            process.finish(exit, self.pid());
        }
        Ok(())
    }

    /// Ends the machine of a pod, without waiting for it.
    fn kill_sandbox(self: &Arc<Self>, signal: u32) {
        if HARMLESS.contains(&signal) {
            return;
        }
        self.sandbox_status
            .store(KILLED_BY + signal, Ordering::SeqCst);
        let tasks = Arc::clone(self);
        tokio::spawn(async move { tasks.machine.shut_down().await });
    }
}
