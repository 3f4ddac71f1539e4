//! `Delete`.

use std::sync::Arc;
use std::time::Duration;

use containerd_protocol::events::{TOPIC_DELETE, TaskDelete};

use super::entry::Entry;
use super::phase::{End, Phase};
use super::process::{KILLED, Process};
use super::{TaskError, Tasks, change};
use crate::{Pod, ProcessName};

impl<P: Pod> Tasks<P> {
    /// Deletes a process that has ended or was not started, and returns its end. The container of a main process is
    /// removed from the machine, and the machine ends with the container that it was booted for.
    pub(crate) async fn delete(self: &Arc<Self>, name: &ProcessName) -> Result<End, TaskError> {
        let (entry, process) = self.find(name)?;
        change(Arc::clone(self).delete_now(entry, process)).await
    }

    async fn delete_now(
        self: Arc<Self>,
        entry: Arc<Entry>,
        process: Arc<Process>,
    ) -> Result<End, TaskError> {
        let _gate = process.gate.lock().await;
        self.check_present(&process)?;
        if process.phase() == Phase::Running {
            return Err(TaskError::State {
                action: "delete",
                name: process.name.clone(),
                reason: "it is running",
            });
        }
        let Some(exec_id) = &process.name.exec_id else {
            return self.delete_container(&entry).await;
        };
        process.finish(KILLED, self.pid());
        process.copies.drain().await;
        entry.remove(exec_id);
        process.ended().await
    }

    async fn delete_container(&self, entry: &Entry) -> Result<End, TaskError> {
        let process = &entry.main;
        let id = &process.name.container_id;
        self.end_execs(entry, Duration::ZERO).await;
        process.finish(KILLED, self.pid());
        process.copies.drain().await;
        let removed = self.machine.remove(id).await;
        let pid = self.pid();
        if self.registry.is_first(id) {
            // Nothing of the container outlives its machine, whatever the guest answered.
            self.machine.shut_down().await;
        } else {
            removed.map_err(TaskError::pod("delete", &process.name))?;
        }
        let end = process.ended().await?;
        let event = TaskDelete {
            container_id: id.clone(),
            pid,
            exit_status: end.status,
            exited_at: Some(end.at),
            id: id.clone(),
        };
        self.registry
            .remove(id, || self.events.push(TOPIC_DELETE, &event));
        Ok(end)
    }
}
