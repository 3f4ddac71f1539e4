//! The ownership of a sandbox, which ends with its owner.

use std::sync::Arc;
use std::time::Duration;

use msb_cancellation::Cleanups;
use msb_client::Error;
use msb_runtime::{OwnOptions, Owner as MachineOwner, Sandbox as StoredSandbox};
use tokio::runtime::Handle as RuntimeHandle;

use super::discard::end_and_remove;
use super::handle::Handle;

/// The time that processes in a sandbox have to end themselves when its owner dies.
const GRACE: Duration = Duration::from_secs(2);

/// Returns the end of an owned sandbox whose owner is gone: it is removed.
pub const fn own_options() -> OwnOptions {
    OwnOptions {
        grace: GRACE,
        remove: true,
    }
}

/// The ownership of a sandbox. Dropping it ends the sandbox and removes it; if this process dies, the
/// supervisor ends the sandbox, and the next listing or start of any client removes it.
#[derive(Debug)]
pub struct Owner {
    /// The ownership as the supervisor knows it; `None` once it was given up.
    machine: Option<MachineOwner>,
    sandbox: StoredSandbox,
    cleanups: Cleanups,
}

impl Owner {
    /// Returns the owner of a running sandbox.
    pub const fn new(machine: MachineOwner, sandbox: StoredSandbox, cleanups: Cleanups) -> Self {
        Self {
            machine: Some(machine),
            sandbox,
            cleanups,
        }
    }

    /// Gives the sandbox free: it goes on without an owner, and is kept.
    ///
    /// # Errors
    /// If the supervisor does not answer. The sandbox then ends as if the owner were dropped.
    pub async fn release(mut self) -> Result<(), Error> {
        match self.machine.take() {
            Some(machine) => Ok(machine.release().await?),
            None => Ok(()),
        }
    }

    /// Shuts the sandbox down, or kills it if that takes too long, and removes it.
    ///
    /// # Errors
    /// If the sandbox cannot be killed or removed.
    pub async fn end(mut self) -> Result<(), Error> {
        let machine = self.machine.take();
        let ended = end_and_remove(self.sandbox.clone()).await;
        drop(machine);
        ended
    }

    /// Gives up the ownership of a sandbox that is gone.
    pub fn forget(mut self) {
        self.machine = None;
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let Some(machine) = self.machine.take() else {
            return;
        };
        let (sandbox, cleanup) = (self.sandbox.clone(), self.cleanups.begin());
        let ending = async move {
            // A sandbox that is not removed now is removed by the next sweep.
            let _ = end_and_remove(sandbox).await;
            drop((machine, cleanup));
        };
        match RuntimeHandle::try_current() {
            Ok(runtime) => {
                runtime.spawn(ending);
            }
            Err(_) => end_on_a_thread(ending),
        }
    }
}

/// The handles of a sandbox that its user holds. An owned sandbox ends with the last of them, although
/// calls that still run share its state.
#[derive(Debug)]
pub struct Scope(Arc<Handle>);

impl Scope {
    /// Returns the scope of a handle, at whose end the owned sandbox ends.
    pub const fn new(handle: Arc<Handle>) -> Self {
        Self(handle)
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        drop(self.0.end_scope());
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
