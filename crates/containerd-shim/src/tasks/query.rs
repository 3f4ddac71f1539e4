//! Calls that read the state of a process, and those that pass a setting on.

use std::sync::Arc;

use containerd_protocol::metrics::Metrics;
use containerd_protocol::task::StateResponse;

use super::phase::{End, Phase};
use super::{TaskError, Tasks};
use crate::machine::CALL_TIMEOUT;
use crate::{Pod, ProcessName, TerminalSize};

impl<P: Pod> Tasks<P> {
    /// Returns the state of a process.
    pub(crate) fn state(&self, name: &ProcessName) -> Result<StateResponse, TaskError> {
        let (entry, process) = self.find(name)?;
        let end = process.phase().end();
        let stdio = &process.stdio;
        Ok(StateResponse {
            id: name.container_id.clone(),
            bundle: entry.container.bundle.display().to_string(),
            pid: self.pid(),
            status: process.status().into(),
            stdin: stdio.stdin.clone(),
            stdout: stdio.stdout.clone(),
            stderr: stdio.stderr.clone(),
            terminal: stdio.has_terminal,
            exit_status: end.map_or(0, |end| end.status),
            exited_at: end.map(|end| end.at),
            exec_id: name.exec_id.clone().unwrap_or_default(),
        })
    }

    /// Waits for the end of a process.
    pub(crate) async fn wait(&self, name: &ProcessName) -> Result<End, TaskError> {
        let (_, process) = self.find(name)?;
        process.ended().await
    }

    /// Returns the pid that all processes of a container have on this host: that of the VMM process.
    pub(crate) fn container_pid(&self, container_id: &str) -> Result<u32, TaskError> {
        self.find(&ProcessName::new(container_id, ""))?;
        Ok(self.pid())
    }

    /// Returns the statistics of a container.
    pub(crate) async fn stats(&self, container_id: &str) -> Result<Metrics, TaskError> {
        let name = ProcessName::new(container_id, "");
        self.find(&name)?;
        let stats = self.machine.pod().stats(container_id);
        let stats = self.machine.call(CALL_TIMEOUT, stats).await;
        stats.map_err(TaskError::pod("measure", &name))
    }

    /// Changes the limits of a container.
    pub(crate) async fn update(
        &self,
        container_id: &str,
        resources: &[u8],
    ) -> Result<(), TaskError> {
        let name = ProcessName::new(container_id, "");
        self.find(&name)?;
        let updated = self.machine.pod().update(container_id, resources);
        let updated = self.machine.call(CALL_TIMEOUT, updated).await;
        updated.map_err(TaskError::pod("update", &name))
    }

    /// Sets the size of a terminal. A process that does not run has none.
    pub(crate) async fn resize(
        self: &Arc<Self>,
        name: &ProcessName,
        size: TerminalSize,
    ) -> Result<(), TaskError> {
        let (_, process) = self.find(name)?;
        if process.phase() != Phase::Running {
            return Err(TaskError::State {
                action: "resize",
                name: name.clone(),
                reason: "it is not running",
            });
        }
        let resized = self.machine.pod().resize(name, size);
        let resized = self.machine.call(CALL_TIMEOUT, resized).await;
        resized.map_err(TaskError::pod("resize", name))
    }

    /// Closes the standard input of a process.
    pub(crate) fn close_stdin(&self, name: &ProcessName) -> Result<(), TaskError> {
        let (_, process) = self.find(name)?;
        process.copies.close_stdin();
        Ok(())
    }
}
