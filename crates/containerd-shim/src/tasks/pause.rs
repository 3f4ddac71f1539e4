//! `Pause` and `Resume`.

use std::sync::Arc;

use super::phase::Phase;
use super::{TaskError, Tasks, change};
use crate::machine::CALL_TIMEOUT;
use crate::{Pod, ProcessName};

impl<P: Pod> Tasks<P> {
    /// Stops all processes of a running container where they are.
    pub(crate) async fn pause(self: &Arc<Self>, container_id: &str) -> Result<(), TaskError> {
        change(Arc::clone(self).set_paused(container_id.to_owned(), true)).await
    }

    /// Lets the processes of a container go on.
    pub(crate) async fn resume(self: &Arc<Self>, container_id: &str) -> Result<(), TaskError> {
        change(Arc::clone(self).set_paused(container_id.to_owned(), false)).await
    }

    async fn set_paused(self: Arc<Self>, id: String, is_paused: bool) -> Result<(), TaskError> {
        let action = if is_paused { "pause" } else { "resume" };
        let name = ProcessName::new(&id, "");
        let (entry, process) = self.find(&name)?;
        let refused = |reason| TaskError::State {
            action,
            name: name.clone(),
            reason,
        };
        if entry.container.is_sandbox {
            return Err(refused("the sandbox of a pod has no processes"));
        }
        // One change of a process at a time.
        let _gate = process.gate.lock().await;
        if process.phase() != Phase::Running {
            return Err(refused("it is not running"));
        }
        let pod = self.machine.pod();
        let done = if is_paused {
            self.machine.call(CALL_TIMEOUT, pod.pause(&id)).await
        } else {
            self.machine.call(CALL_TIMEOUT, pod.resume(&id)).await
        };
        done.map_err(TaskError::pod(action, &name))?;
        if process.set_paused(is_paused) {
            Ok(())
        } else {
            Err(refused("it has ended"))
        }
    }
}
