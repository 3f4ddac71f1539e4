//! The containers of a shim.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::TaskError;
use super::entry::Entry;
use crate::ProcessName;

/// The containers of a shim, by their ids.
#[derive(Default)]
pub(crate) struct Registry(Mutex<State>);

#[derive(Default)]
struct State {
    /// A container; `None` while it is being created.
    entries: HashMap<String, Option<Arc<Entry>>>,
    /// The container that the machine was booted for: the sandbox, or the only one.
    first: Option<String>,
}

/// The id of a container that is being created. It is free again if this is dropped.
pub(crate) struct Reservation<'a> {
    registry: &'a Registry,
    id: String,
    is_filled: bool,
}

impl Registry {
    /// Reserves the id of a new container, which is the first one or belongs to a pod.
    pub(crate) fn reserve(&self, id: &str, is_first: bool) -> Result<Reservation<'_>, TaskError> {
        let name = ProcessName::new(id, "");
        let mut state = self.state();
        if state.entries.contains_key(id) {
            return Err(TaskError::Exists(name));
        }
        let booted = state
            .first
            .as_ref()
            .and_then(|first| state.entries.get(first));
        let reason = match (is_first, booted) {
            (true, Some(_)) => Some("this shim has a pod already"),
            (false, None | Some(None)) => Some("the sandbox of its pod does not run"),
            (true, None) | (false, Some(Some(_))) => None,
        };
        if let Some(reason) = reason {
            return Err(TaskError::State {
                action: "create",
                name,
                reason,
            });
        }
        if is_first {
            state.first = Some(id.to_owned());
        }
        state.entries.insert(id.to_owned(), None);
        Ok(Reservation {
            registry: self,
            id: id.to_owned(),
            is_filled: false,
        })
    }

    /// Returns a container; `None` if it does not exist or is being created.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Entry>> {
        self.state().entries.get(id).cloned().flatten()
    }

    /// Removes a container, and calls `then` before any other call can see that.
    pub(crate) fn remove(&self, id: &str, then: impl FnOnce()) {
        let mut state = self.state();
        state.entries.remove(id);
        then();
    }

    /// Returns true if the machine was booted for the container.
    pub(crate) fn is_first(&self, id: &str) -> bool {
        self.state().first.as_deref() == Some(id)
    }

    /// Returns true if there is no container.
    pub(crate) fn is_empty(&self) -> bool {
        self.state().entries.is_empty()
    }

    /// Returns all containers, the sandbox last.
    pub(crate) fn all(&self) -> Vec<Arc<Entry>> {
        let mut all: Vec<_> = self.state().entries.values().flatten().cloned().collect();
        all.sort_by_key(|entry| entry.container.is_sandbox);
        all
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation<'_> {
    /// Adds the container, after `before`, which no other call can see the container without.
    pub(crate) fn fill(mut self, entry: Arc<Entry>, before: impl FnOnce()) {
        let mut state = self.registry.state();
        before();
        state.entries.insert(self.id.clone(), Some(entry));
        drop(state);
        self.is_filled = true;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if self.is_filled {
            return;
        }
        let mut state = self.registry.state();
        state.entries.remove(&self.id);
        if state.first.as_deref() == Some(self.id.as_str()) {
            state.first = None;
        }
    }
}
