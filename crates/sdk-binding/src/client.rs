use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::runtime::{self, Runtime};

use crate::failure::Failure;
use crate::handle::{Handle, HandleShared};
use crate::object::Target;
use crate::operations::client;

/// Worker threads of a runtime. Operations only wait; two threads keep one that computes (JSON,
/// copies) from delaying the others.
const WORKERS: usize = 2;

/// A client of msb with a Tokio runtime of its own.
///
/// Clones share the client. Its runtime ends with [`Client::shutdown`], or when the last clone and
/// the last handle are dropped.
#[derive(Clone)]
pub struct Client {
    shared: Arc<ClientShared>,
}

struct ClientShared {
    /// The process that opened the client.
    process_id: u32,
    spawner: runtime::Handle,
    state: Mutex<State>,
}

struct State {
    /// The object of the root handle; `None` after the client was shut down.
    root: Option<Target>,
    /// `None` after the client was shut down.
    runtime: Option<Runtime>,
    /// Every handle that was made, so that a shutdown closes them.
    handles: Vec<Weak<HandleShared>>,
}

impl Client {
    /// Opens a client.
    ///
    /// `parameters` is a JSON object with the fields of msb-sdk's builder: `home`, `program`,
    /// `kernel`, `qemu`, `vmm` and `jail`. Absent fields and those that are null have the builder's
    /// defaults.
    ///
    /// # Errors
    ///
    /// A parameter is refused, or the program `msb` is absent or of another version.
    pub fn open(parameters: &str) -> Result<Self, Failure> {
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("msb")
            .enable_all()
            .build()
            .map_err(|error| Failure::internal("cannot start the client's threads", &error))?;
        let spawner = runtime.handle().clone();
        let root = {
            let _entered = spawner.enter();
            client::open(parameters)?
        };
        Ok(Self {
            shared: Arc::new(ClientShared {
                process_id: std::process::id(),
                spawner,
                state: Mutex::new(State {
                    root: Some(root),
                    runtime: Some(runtime),
                    handles: Vec::new(),
                }),
            }),
        })
    }

    /// Returns the root handle, which has the operations of the client itself.
    pub fn handle(&self) -> Handle {
        // In a forked process the lock may be held by a thread that does not exist.
        let root = if self.is_forked() {
            None
        } else {
            self.state().root.clone()
        };
        Handle::new(self.clone(), root)
    }

    /// Runs a future on the client's runtime. After a shutdown the future is dropped.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        if self.check().is_ok() {
            self.shared.spawner.spawn(future);
        }
    }

    /// Closes every handle and ends the runtime. Waits at most `timeout` for operations that cannot
    /// be interrupted. Operations that run fail with the code `client-closed`, and so do later
    /// ones.
    ///
    /// It must not be called on a thread of the runtime.
    pub fn shutdown(&self, timeout: Duration) {
        if self.is_forked() {
            return;
        }
        let (runtime, root, handles) = {
            let mut state = self.state();
            let handles = std::mem::take(&mut state.handles);
            (state.runtime.take(), state.root.take(), handles)
        };
        for handle in handles.iter().filter_map(Weak::upgrade) {
            handle.close();
        }
        let Some(runtime) = runtime else {
            return;
        };
        let deadline = Instant::now() + timeout;
        if let Some(root) = root {
            // A removal that takes longer goes on in the process of the machine.
            runtime.block_on(async {
                let _settled = tokio::time::timeout(timeout, client::settled(&root)).await;
            });
            self.give_up(root);
        }
        runtime.shutdown_timeout(deadline.saturating_duration_since(Instant::now()));
    }

    /// Returns true if this process was forked from the one that opened the client.
    pub fn is_forked(&self) -> bool {
        std::process::id() != self.shared.process_id
    }

    /// Checks that operations can run.
    ///
    /// # Errors
    ///
    /// The process was forked from the client's own, or the client is closed.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.is_forked() {
            return Err(Failure::forked());
        }
        match self.state().runtime {
            Some(_) => Ok(()),
            None => Err(Failure::client_closed()),
        }
    }

    pub(crate) fn runtime(&self) -> &runtime::Handle {
        &self.shared.spawner
    }

    /// Remembers a handle until it is dropped.
    pub(crate) fn register(&self, handle: &Arc<HandleShared>) {
        if self.is_forked() {
            return;
        }
        let mut state = self.state();
        // Amortised: the list is swept before it would grow.
        if state.handles.len() == state.handles.capacity() {
            state.handles.retain(|handle| handle.strong_count() > 0);
        }
        state.handles.push(Arc::downgrade(handle));
    }

    /// Closes and drops an object, with the runtime that this may need.
    pub(crate) fn give_up(&self, target: Target) {
        let _entered = self.shared.spawner.enter();
        target.close();
        drop(target);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ClientShared {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let runtime = state.runtime.take();
        if std::process::id() != self.process_id {
            // The runtime's threads do not exist in a forked process, and its epoll instance is the
            // parent's, too: dropping a socket would deregister it there.
            std::mem::forget((runtime, state.root.take()));
        } else if let Some(runtime) = runtime {
            // The last clone may be dropped on a thread of the runtime, which cannot wait for
            // itself.
            runtime.shutdown_background();
        }
    }
}
