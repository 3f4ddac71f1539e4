//! The ownership of a sandbox, which ends with its owner.

use msb_runtime::Sandbox as StoredSandbox;
use tokio::runtime::Handle as RuntimeHandle;

use super::discard::kill_and_remove;
use crate::cleanup::Cleanups;

/// The ownership of a sandbox. Dropping it ends the sandbox and removes it.
#[derive(Debug)]
pub(super) struct Owner {
    sandbox: Option<StoredSandbox>,
    cleanups: Cleanups,
    /// True if the sandbox is kept when it is given free.
    keeps_when_detached: bool,
}

impl Owner {
    /// Takes the ownership of a running sandbox.
    pub(super) const fn new(
        sandbox: StoredSandbox,
        cleanups: Cleanups,
        keeps_when_detached: bool,
    ) -> Self {
        Self {
            sandbox: Some(sandbox),
            cleanups,
            keeps_when_detached,
        }
    }

    /// Returns true if the sandbox is kept when it is given free.
    pub(super) const fn keeps_when_detached(&self) -> bool {
        self.keeps_when_detached
    }

    /// Gives the sandbox free: it goes on without an owner.
    pub(super) fn release(mut self) {
        self.sandbox = None;
    }

    /// Gives up the ownership for a caller that ends the sandbox itself.
    pub(super) fn into_sandbox(mut self) -> Option<StoredSandbox> {
        self.sandbox.take()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let Some(sandbox) = self.sandbox.take() else {
            return;
        };
        let cleanup = self.cleanups.begin();
        let ending = async move {
            // A sandbox that is not removed now is removed by the next sweep.
            let _ = kill_and_remove(sandbox).await;
            drop(cleanup);
        };
        match RuntimeHandle::try_current() {
            Ok(runtime) => {
                runtime.spawn(ending);
            }
            Err(_) => end_on_a_thread(ending),
        }
    }
}

/// Runs the end of a sandbox where there is no runtime, or none any more.
fn end_on_a_thread(ending: impl Future<Output = ()> + Send + 'static) {
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        if let Ok(runtime) = runtime {
            runtime.block_on(ending);
        }
    };
    let _ = std::thread::Builder::new()
        .name("msb-owner".to_owned())
        .spawn(run);
}
