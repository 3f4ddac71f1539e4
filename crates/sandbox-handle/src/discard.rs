//! The removal of a sandbox whose handle is gone.

use std::time::{Duration, Instant};

use msb_cancellation::Cleanup;
use msb_client::{Error, Force, Removal, Shared};
use msb_runtime::{ConnectError, RemoveError, Sandbox as StoredSandbox};
use msb_sandbox_files::finish_applying;
use tokio::time::timeout;

/// The time that an ended machine may take to disappear.
// 60 s: what is given up stays, with its name. On a host with two busy processors a killed QEMU can take longer than 5 s.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(60);
/// The time that an owned sandbox has to shut down at the end of its scope.
// 2 s: an emulated guest with one volume took 0.5 s, and the end of a scope is waited for.
const ORDERLY_TIMEOUT: Duration = Duration::from_secs(2);
/// The part of it that processes have to end themselves.
const ORDERLY_GRACE: Duration = Duration::from_millis(500);
/// The interval at which a sandbox is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Removes a sandbox whose machine has ended or is about to, on a thread of its own: the caller may
/// be dropped on a thread that must not block, or after its runtime has ended.
pub fn discard(sandbox: StoredSandbox, cleanup: Cleanup) {
    let removing = move || {
        remove_ended(&sandbox);
        drop(cleanup);
    };
    // A sandbox that is not removed now is removed by a sweep, or by its user.
    let _ = std::thread::Builder::new()
        .name("msb-discard".to_owned())
        .spawn(removing);
}

/// Removes a sandbox once its machine has ended, which takes a moment. Blocks.
pub fn remove_ended(sandbox: &StoredSandbox) {
    let deadline = Instant::now() + DISCARD_TIMEOUT;
    while matches!(sandbox.clone().remove(), Err(RemoveError::Running { .. }))
        && Instant::now() < deadline
    {
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Removes the sandboxes with these names that do not run. Blocks.
///
/// # Errors
/// If a sandbox's description cannot be read.
pub fn remove_stopped(shared: &Shared, names: &[String]) -> Result<Vec<Removal>, Error> {
    let mut removals = Vec::new();
    for name in names {
        let Some(sandbox) = StoredSandbox::find(shared.home(), name)? else {
            continue;
        };
        let name = sandbox.spec.name.clone();
        let size_bytes = sandbox.allocated_bytes().unwrap_or(0);
        let mounts = sandbox.spec.mounts.clone();
        let freed_bytes = match sandbox.remove() {
            // The sandbox was started meanwhile.
            Err(RemoveError::Running { .. }) => continue,
            removed => removed.map(|()| size_bytes).map_err(Error::from),
        };
        // An apply that cannot be finished is told by `msb doctor`.
        let _ = finish_applying(shared.home(), &mounts);
        removals.push(Removal::new(name, freed_bytes));
    }
    Ok(removals)
}

/// Removes the sandbox with this name if its description cannot be read. Returns false if there is no
/// such sandbox. Blocks.
///
/// # Errors
/// If it runs and is not to be killed, or cannot be killed or removed.
pub fn remove_unreadable(shared: &Shared, name: &str, force: Force) -> Result<bool, Error> {
    let Some(sandbox) = StoredSandbox::find_unreadable(shared.home(), name)? else {
        return Ok(false);
    };
    if force == Force::Yes {
        sandbox.kill()?;
    }
    Ok(sandbox.remove().map(|()| true)?)
}

/// Asks the guest to shut down, so that its writes to volumes are kept, and removes the sandbox. A
/// guest that does not end soon is killed.
///
/// # Errors
/// If the sandbox cannot be killed or removed.
pub(crate) async fn end_and_remove(sandbox: StoredSandbox) -> Result<(), Error> {
    // The outcome does not matter: what still runs is killed.
    let _ = timeout(ORDERLY_TIMEOUT, sandbox.stop(ORDERLY_GRACE, None)).await;
    kill_and_remove(sandbox).await
}

/// Kills a sandbox and removes it.
///
/// # Errors
/// If the sandbox cannot be killed or removed.
pub async fn kill_and_remove(sandbox: StoredSandbox) -> Result<(), msb_client::Error> {
    let state = {
        let sandbox = sandbox.clone();
        msb_client::blocking(move || sandbox.state()).await?
    };
    if state.is_up() {
        match sandbox.kill().await {
            // The sandbox ended by itself meanwhile.
            Ok(()) | Err(ConnectError::NotRunning { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    msb_client::blocking(move || sandbox.remove()).await
}
