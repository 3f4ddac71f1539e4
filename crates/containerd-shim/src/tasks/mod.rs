//! The tasks of a shim: the state machine behind the Task service.
//!
//! ```text
//!            Start             exit, or the machine ends
//! created ----------> running --------------------------> ended --> deleted
//!    |                                                      ^
//!    +---- Kill, Delete, the machine or container ends -----+
//! ```
//!
//! A change runs in a task of tokio, so that it is completed if its caller disconnects. States and events change
//! together, so events have the order of the states. Every process ends: by itself, with its container, or with the
//! machine; and every call on the machine has a time limit.

mod create;
mod delete;
mod entry;
mod error;
mod pause;
mod phase;
mod process;
mod query;
mod registry;
mod signal;
mod start;
mod watch;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::watch as watch_channel;

pub use error::TaskError;

use crate::events::EventQueue;
use crate::machine::Machine;
use crate::{Pod, ProcessName};
use entry::Entry;
use process::Process;
use registry::Registry;

/// The tasks of a shim.
pub(crate) struct Tasks<P> {
    machine: Machine<P>,
    registry: Registry,
    pub(crate) events: Arc<EventQueue>,
    /// True once the machine has ended.
    is_machine_over: AtomicBool,
    /// The status that ends the sandbox of a pod; 137 if the machine ends by itself.
    sandbox_status: std::sync::atomic::AtomicU32,
    /// True once a first container was asked for.
    is_used: watch_channel::Sender<bool>,
    is_shut_down: watch_channel::Sender<bool>,
}

impl<P: Pod> Tasks<P> {
    pub(crate) fn new(pod: P, namespace: &str) -> Arc<Self> {
        Arc::new(Self {
            machine: Machine::new(pod),
            registry: Registry::default(),
            events: Arc::new(EventQueue::new(namespace)),
            is_machine_over: AtomicBool::new(false),
            sandbox_status: process::KILLED.status.into(),
            is_used: watch_channel::Sender::new(false),
            is_shut_down: watch_channel::Sender::new(false),
        })
    }

    /// Waits until a first container is asked for.
    pub(crate) async fn used(&self) {
        // The sender lives as long as this call.
        let _ = self.is_used.subscribe().wait_for(|is_used| *is_used).await;
    }

    /// Waits until the shim is to end.
    pub(crate) async fn shut_down(&self) {
        // The sender lives as long as this call.
        let _ = self
            .is_shut_down
            .subscribe()
            .wait_for(|is_shut_down| *is_shut_down)
            .await;
    }

    /// Ends the shim, unless it has tasks and does not have to end `now`.
    pub(crate) fn request_shutdown(&self, now: bool) {
        if now || self.registry.is_empty() {
            self.is_shut_down.send_replace(true);
        }
    }

    /// Ends the machine.
    pub(crate) async fn end_machine(&self) {
        self.machine.shut_down().await;
    }

    fn find(&self, name: &ProcessName) -> Result<(Arc<Entry>, Arc<Process>), TaskError> {
        let entry = self.registry.get(&name.container_id);
        let entry =
            entry.ok_or_else(|| TaskError::NotFound(ProcessName::new(&name.container_id, "")))?;
        let process = entry.process(name.exec_id.as_deref());
        let process = process.ok_or_else(|| TaskError::NotFound(name.clone()))?;
        Ok((entry, process))
    }

    /// Checks that no other call has deleted a process meanwhile. A new one can have its name by now.
    fn check_present(&self, process: &Arc<Process>) -> Result<(), TaskError> {
        let (_, present) = self.find(&process.name)?;
        if Arc::ptr_eq(&present, process) {
            Ok(())
        } else {
            Err(TaskError::NotFound(process.name.clone()))
        }
    }

    fn pid(&self) -> u32 {
        self.machine.pod().vmm_pid()
    }
}

/// Completes a change, even if the caller stops to wait for it.
async fn change<T: Send + 'static>(
    change: impl Future<Output = Result<T, TaskError>> + Send + 'static,
) -> Result<T, TaskError> {
    tokio::spawn(change).await.unwrap_or(Err(TaskError::Defect))
}
