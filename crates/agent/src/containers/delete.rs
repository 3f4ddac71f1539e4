use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use guest_container::Group;
use msb_agent_protocol::Status;
use msb_agent_protocol::v1::ContainerDeleted;
use msb_agent_protocol::v1::container_event::Event;
use tokio::time::timeout;

use super::container::Container;
use super::{Containers, blocking, finish, refused};
use crate::console::chain;
use crate::unmount::wait_for_release;

/// The time for killed processes to end. One that waits for a disk ends once it has its answer.
const END_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

impl Containers {
    /// Kills what is left of a container, and removes it.
    pub(super) async fn delete(&self, id: &str) -> Result<(), Status> {
        let container = self.get(id)?;
        let containers = self.clone();
        let id = id.to_owned();
        finish(async move {
            containers.remove(Arc::clone(&container)).await?;
            let mut table = containers.table();
            // Another call may have been faster, and a new container can have the name by now.
            let is_present = matches!(
                table.get(&id), Some(Some(present)) if Arc::ptr_eq(present, &container)
            );
            if is_present {
                table.remove(&id);
            }
            drop(table);
            if is_present {
                containers.tell(&id, Event::Deleted(ContainerDeleted {}));
            }
            Ok(())
        })
        .await
    }

    async fn remove(&self, container: Arc<Container>) -> Result<(), Status> {
        let killed = container.group.kill();
        killed.map_err(|error| refused("kill the container", &error))?;
        if timeout(END_TIMEOUT, container.ended()).await.is_err() {
            return Err(not_ended());
        }
        blocking(move || {
            remove_group(&container.group)?;
            // The mounts go with the last process; the kernel may do that a moment later.
            if let Some(disk) = &container.upper {
                let released = wait_for_release(disk.device().to_owned());
                released.map_err(|error| Status::failed_precondition(chain(&error)))?;
            }
            Ok(())
        })
        .await
    }
}

/// Removes a container's group once its killed processes have ended.
pub(super) fn remove_group(group: &Group) -> Result<(), Status> {
    const ACTION: &str = "remove the control group";
    let deadline = Instant::now() + END_TIMEOUT;
    while group
        .is_populated()
        .map_err(|error| refused(ACTION, &error))?
    {
        if Instant::now() >= deadline {
            return Err(not_ended());
        }
        sleep(POLL_INTERVAL);
    }
    group.remove().map_err(|error| refused(ACTION, &error))
}

fn not_ended() -> Status {
    Status::failed_precondition(format!(
        "the container's processes have not ended within {} s after they were killed",
        END_TIMEOUT.as_secs()
    ))
}
