//! Containers in the sandbox: each is a group of processes with namespaces and a root filesystem of their own.

mod container;
mod create;
mod delete;
mod freeze;
mod ground;
mod memory;
mod processes;
mod program;
mod service;
mod start;
mod watch;

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::container_event::Event;
use msb_agent_protocol::v1::{ContainerEvent, Failure, FailureKind};
use tokio::sync::broadcast;

use crate::console::chain;
use crate::exec::Running;
use crate::reaper::Reaper;
use container::Container;
pub(crate) use program::run;

/// The most containers. A pod of Kubernetes has some ten.
const CONTAINERS_MAX: usize = 256;
/// The most events that a client can be behind.
const PENDING_EVENTS: usize = 1024;

/// The containers of the sandbox, by their ids.
#[derive(Debug, Clone)]
pub(crate) struct Containers(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// A container that is being made has its id already.
    table: Mutex<BTreeMap<String, Option<Arc<Container>>>>,
    events: broadcast::Sender<ContainerEvent>,
    reaper: Reaper,
    running: Running,
}

impl Containers {
    pub(crate) fn new(reaper: Reaper, running: Running) -> Self {
        let (events, _) = broadcast::channel(PENDING_EVENTS);
        Self(Arc::new(Shared {
            table: Mutex::default(),
            events,
            reaper,
            running,
        }))
    }

    /// Fails if no containers are made and no processes started.
    fn admit(&self) -> Result<(), Status> {
        match self.0.running.refusal() {
            Some(reason) => Err(Status::unavailable(reason)),
            None => Ok(()),
        }
    }

    /// Takes an id for a container that is about to be made.
    fn reserve(&self, id: &str) -> Result<(), Status> {
        let mut table = self.table();
        if table.contains_key(id) {
            return Err(Status::already_exists(format!(
                "the container {id} exists already"
            )));
        }
        if table.len() == CONTAINERS_MAX {
            return Err(Status::resource_exhausted(format!(
                "the sandbox has {CONTAINERS_MAX} containers, which is the limit"
            )));
        }
        table.insert(id.to_owned(), None);
        Ok(())
    }

    /// Returns a container that was made.
    fn get(&self, id: &str) -> Result<Arc<Container>, Status> {
        let found = self.table().get(id).cloned().flatten();
        found.ok_or_else(|| {
            Status::not_found(format!("there is no container {}", id.escape_default()))
        })
    }

    /// Tells all watchers. Nothing is awaited between a change and the report of it.
    fn tell(&self, id: &str, event: Event) {
        // Sending fails if there is no watcher, and then nothing is lost.
        let _ = self.0.events.send(ContainerEvent {
            container_id: id.to_owned(),
            event: Some(event),
        });
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<String, Option<Arc<Container>>>> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the status of a plan that cannot be carried out.
fn invalid(error: &dyn Error) -> Status {
    Status::invalid_argument(chain(error))
}

/// Returns the status of an action that the guest's kernel refused.
fn refused(action: &str, error: &dyn Error) -> Status {
    Status::failed_precondition(format!("cannot {action}: {}", chain(error)))
}

/// Returns the status of a process that was not started.
fn not_started(failure: Failure) -> Status {
    match failure.kind() {
        FailureKind::Guest => Status::internal(failure.message),
        FailureKind::Paused => Status::failed_precondition(failure.message),
        FailureKind::CommandNotFound
        | FailureKind::CommandNotExecutable
        | FailureKind::BadRequest => Status::invalid_argument(failure.message),
    }
}

/// Runs work that ends even if the host cancels its call.
async fn finish<T: Send + 'static>(
    work: impl Future<Output = Result<T, Status>> + Send + 'static,
) -> Result<T, Status> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|_| Err(Status::internal("the agent failed")))
}

/// Runs work that blocks, on its own thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Status> + Send + 'static,
) -> Result<T, Status> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Status::internal("the agent failed")))
}
