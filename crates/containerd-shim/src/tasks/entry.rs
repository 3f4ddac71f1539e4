//! A container of the registry: its main process and its further ones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use containerd_protocol::events::{TOPIC_EXEC_ADDED, TaskExecAdded};

use super::TaskError;
use super::phase::Phase;
use super::process::Process;
use crate::Container;
use crate::events::EventQueue;

/// A container.
pub(crate) struct Entry {
    pub(crate) container: Container,
    pub(crate) main: Arc<Process>,
    execs: Mutex<Execs>,
}

#[derive(Default)]
struct Execs {
    processes: HashMap<String, Arc<Process>>,
    /// True once the container is being deleted.
    is_closed: bool,
}

impl Entry {
    pub(crate) fn new(container: Container, main: Arc<Process>) -> Self {
        Self {
            container,
            main,
            execs: Mutex::default(),
        }
    }

    /// Returns the main process, or a further one.
    pub(crate) fn process(&self, exec_id: Option<&str>) -> Option<Arc<Process>> {
        match exec_id {
            None => Some(Arc::clone(&self.main)),
            Some(exec_id) => self.execs().processes.get(exec_id).cloned(),
        }
    }

    /// Returns all further processes.
    pub(crate) fn all_execs(&self) -> Vec<Arc<Process>> {
        self.execs().processes.values().cloned().collect()
    }

    /// Adds a further process, with its event.
    pub(crate) fn add(&self, process: Process, events: &EventQueue) -> Result<(), TaskError> {
        let name = process.name.clone();
        let mut execs = self.execs();
        let exec_id = name.exec_id.clone().unwrap_or_default();
        if execs.processes.contains_key(&exec_id) {
            return Err(TaskError::Exists(name));
        }
        if execs.is_closed || matches!(self.main.phase(), Phase::Ended(_)) {
            return Err(TaskError::State {
                action: "create",
                name,
                reason: "the container has ended",
            });
        }
        execs.processes.insert(exec_id.clone(), Arc::new(process));
        let event = TaskExecAdded {
            container_id: name.container_id,
            exec_id,
        };
        events.push(TOPIC_EXEC_ADDED, &event);
        Ok(())
    }

    /// Removes a further process.
    pub(crate) fn remove(&self, exec_id: &str) {
        self.execs().processes.remove(exec_id);
    }

    /// Lets no process be added any more.
    pub(crate) fn close(&self) {
        self.execs().is_closed = true;
    }

    fn execs(&self) -> MutexGuard<'_, Execs> {
        self.execs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
