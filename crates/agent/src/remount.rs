//! The sandbox's root, unmounted while the host puts another content on the upper disk, and mounted again.

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::UnmountRootRequest;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Duration, Instant};

use crate::exec::Running;
use crate::{boot, pause, shutdown, unmount};

/// Held while the root is unmounted or mounted; a shutdown waits for it.
static TURN: Mutex<()> = Mutex::const_new(());

/// Waits until the root is neither being unmounted nor mounted.
pub(crate) async fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().await
}

/// Ends all processes, and unmounts the root. Commands and calls on files are refused from then on.
pub(crate) async fn unmount(request: UnmountRootRequest, running: &Running) -> Result<(), Status> {
    if !running.close_for_unmount() {
        return Err(Status::unavailable(
            running.refusal().unwrap_or("the root is unmounted"),
        ));
    }
    let running = running.clone();
    // The work ends even if the host cancels the call.
    finish(async move {
        let _turn = turn().await;
        end_processes(&request, &running).await;
        match unmount::beside_pings(unmount::unmount_for_a_while).await {
            Some(unmounted) => unmounted.map_err(|error| refusal("unmount", &error)),
            None => Err(Status::internal("the agent failed")),
        }
    })
    .await
}

/// Mounts the root again, and accepts commands.
pub(crate) async fn mount(running: &Running) -> Result<(), Status> {
    let running = running.clone();
    finish(async move {
        let _turn = turn().await;
        if running.is_closed_for_good() || !running.is_closed() {
            return Err(Status::failed_precondition("the root is not unmounted"));
        }
        match unmount::beside_pings(boot::mount_again).await {
            Some(Ok(())) => {
                unmount::note_mounted();
                running.reopen();
                Ok(())
            }
            Some(Err(error)) => Err(refusal("mount", &error)),
            None => Err(Status::internal("the agent failed")),
        }
    })
    .await
}

async fn end_processes(request: &UnmountRootRequest, running: &Running) {
    match request.grace_ms {
        Some(grace_ms) => {
            // Frozen processes would not get their signals.
            pause::end(running).await;
            let deadline = Instant::now() + Duration::from_millis(grace_ms.into());
            if let Some(first) = request.first {
                running.end(first, deadline).await;
            }
            shutdown::end_processes(deadline).await;
        }
        None => {
            // The freezer lets processes go that are killed.
            shutdown::kill_processes().await;
            pause::end(running).await;
        }
    }
}

fn refusal(action: &str, error: &(dyn std::error::Error + 'static)) -> Status {
    Status::failed_precondition(format!(
        "cannot {action} the root: {}",
        crate::console::chain(error)
    ))
}

async fn finish(
    work: impl Future<Output = Result<(), Status>> + Send + 'static,
) -> Result<(), Status> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|_| Err(Status::internal("the agent failed")))
}
