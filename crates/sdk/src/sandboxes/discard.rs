//! The removal of a sandbox whose handle is gone.

use std::time::{Duration, Instant};

use msb_runtime::{ConnectError, RemoveError, Sandbox as StoredSandbox, State};

use crate::cleanup::Cleanup;

/// The time that an ended machine may take to disappear.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval at which a sandbox is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Removes a sandbox whose machine has ended or is about to, on a thread of its own: the caller may
/// be dropped on a thread that must not block, or after its runtime has ended.
pub(super) fn discard(sandbox: StoredSandbox, cleanup: Cleanup) {
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
pub(super) fn remove_ended(sandbox: &StoredSandbox) {
    let deadline = Instant::now() + DISCARD_TIMEOUT;
    while matches!(sandbox.clone().remove(), Err(RemoveError::Running { .. }))
        && Instant::now() < deadline
    {
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Kills a sandbox and removes it.
///
/// # Errors
/// If the sandbox cannot be killed or removed.
pub(super) async fn kill_and_remove(sandbox: StoredSandbox) -> Result<(), crate::Error> {
    let state = {
        let sandbox = sandbox.clone();
        crate::operation::blocking(move || sandbox.state()).await?
    };
    if state == State::Running {
        match sandbox.kill().await {
            // The sandbox ended by itself meanwhile.
            Ok(()) | Err(ConnectError::NotRunning { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    crate::operation::blocking(move || sandbox.remove()).await
}
