//! `Start`.

use std::sync::Arc;

use super::entry::Entry;
use super::phase::Phase;
use super::process::Process;
use super::{TaskError, Tasks, change};
use crate::machine::{CALL_TIMEOUT, START_TIMEOUT};
use crate::{Exec, Pod, PodError, ProcessName, Running};

/// The signal that cannot be ignored.
const SIGKILL: u32 = 9;

impl<P: Pod> Tasks<P> {
    /// Starts a created process, and returns its pid.
    pub(crate) async fn start(self: &Arc<Self>, name: &ProcessName) -> Result<u32, TaskError> {
        let (entry, process) = self.find(name)?;
        change(Arc::clone(self).start_now(entry, process)).await
    }

    async fn start_now(
        self: Arc<Self>,
        entry: Arc<Entry>,
        process: Arc<Process>,
    ) -> Result<u32, TaskError> {
        let _gate = process.gate.lock().await;
        let refused = |reason| TaskError::State {
            action: "start",
            name: process.name.clone(),
            reason,
        };
        match process.phase() {
            Phase::Created => {}
            Phase::Running => return Err(refused("it is running already")),
            Phase::Ended(_) => return Err(refused("it has ended")),
        }
        let is_exec = process.name.exec_id.is_some();
        if is_exec && entry.main.phase() != Phase::Running {
            return Err(refused("the container is not running"));
        }
        let pid = self.pid();
        if entry.container.is_sandbox {
            // It is a state: it ends with the machine.
            return if process.begin(pid) {
                Ok(pid)
            } else {
                Err(refused("it has ended"))
            };
        }
        let stdio = process.stdio.open().await?;
        let mut running = match self.run(&entry, &process).await {
            Ok(running) => running,
            Err(error) => {
                if matches!(error, PodError::TimedOut(_)) {
                    self.kill_leftover(&process).await;
                }
                return Err(TaskError::pod("start", &process.name)(error));
            }
        };
        if !process.begin(pid) {
            self.kill_leftover(&process).await;
            return Err(refused("it has ended"));
        }
        process.copies.begin(stdio, &mut running).await;
        self.watch_process(&entry, &process, running.exit);
        Ok(pid)
    }

    async fn run(&self, entry: &Entry, process: &Process) -> Result<Running, PodError> {
        let pod = self.machine.pod();
        if process.name.exec_id.is_none() {
            return self
                .machine
                .call(START_TIMEOUT, pod.start(&entry.container))
                .await;
        }
        let exec = Exec {
            name: process.name.clone(),
            has_terminal: process.stdio.has_terminal,
            spec: process.spec.clone(),
        };
        self.machine.call(START_TIMEOUT, pod.exec(&exec)).await
    }

    /// Kills a process whose end is not watched. The container's end kills it too.
    async fn kill_leftover(&self, process: &Process) {
        let signalled = self.machine.pod().signal(&process.name, SIGKILL, false);
        let _ = self.machine.call(CALL_TIMEOUT, signalled).await;
    }
}
