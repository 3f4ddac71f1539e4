use std::sync::Arc;
use std::time::Duration;

use msb_agent_protocol::Status;
use tokio::time::{Instant, sleep};

use super::container::Container;
use super::{Containers, finish, refused};

/// The time for all processes to be frozen. One that waits for a disk is frozen once it has its answer. Callers wait for
/// the call twice as long.
const FREEZE_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

impl Containers {
    /// Freezes all processes of a container. If they cannot be frozen, they go on.
    pub(super) async fn pause(&self, id: &str) -> Result<(), Status> {
        let container = self.get(id)?;
        container.running()?;
        finish(async move {
            // A process that joins a frozen group does not become its program.
            container.set_paused(true);
            let frozen = freeze(&container).await;
            if frozen.is_err() {
                let _ = container.group.freeze(false);
                container.set_paused(false);
            }
            frozen
        })
        .await
    }

    /// Lets the processes go on.
    pub(super) fn resume(&self, id: &str) -> Result<(), Status> {
        let container = self.get(id)?;
        let thawed = container.group.freeze(false);
        thawed.map_err(|error| refused("continue the container", &error))?;
        container.set_paused(false);
        Ok(())
    }
}

async fn freeze(container: &Arc<Container>) -> Result<(), Status> {
    let failed = |error: std::io::Error| refused("pause the container", &error);
    container.group.freeze(true).map_err(failed)?;
    let deadline = Instant::now() + FREEZE_TIMEOUT;
    while !container.group.is_frozen().map_err(failed)? {
        container.running()?;
        if Instant::now() >= deadline {
            return Err(Status::failed_precondition(format!(
                "not all processes of the container were frozen within {} s",
                FREEZE_TIMEOUT.as_secs()
            )));
        }
        sleep(POLL_INTERVAL).await;
    }
    Ok(())
}
