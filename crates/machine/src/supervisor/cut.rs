//! The cut of the writable disk while the machine runs, as a snapshot of it needs.

use std::sync::atomic::Ordering;
use std::time::Duration;

use msb_agent_protocol::v1::{CutDiskReply, CutDiskRequest};
use msb_agent_protocol::{Client, FrozenDisk, Status};
use tokio::time::{sleep, timeout};

use super::Supervisor;
use crate::disk_cut::{CutDiskError, DiskOrders};
use crate::log::log_line;

/// The time after which the agent thaws the filesystem by itself. A cut takes less than a millisecond
/// of it, unless the host's disk is slow.
const FREEZE_LIMIT: Duration = Duration::from_secs(1);
/// The time for a filesystem to be frozen. The guest writes what is dirty first, and another client may
/// have it frozen until then.
const FREEZE_TIMEOUT: Duration = Duration::from_secs(60);
/// The silence of the agent after which it is not waited for any more.
const SILENCE_LIMIT: Duration = Duration::from_secs(10);
/// The time for the answer to a thaw.
const THAW_TIMEOUT: Duration = Duration::from_secs(2);

impl Supervisor {
    /// Returns the thread that cuts the writable disk.
    pub(super) fn cuts(&self) -> Result<&DiskOrders, Status> {
        let missing = || Status::failed_precondition("the machine has no writable disk");
        self.cuts.as_ref().ok_or_else(missing)
    }

    /// Cuts the disk, while the guest has its filesystem frozen if it can do so. The state in the reply
    /// is durable.
    pub(super) async fn cut(&self, request: CutDiskRequest) -> Result<CutDiskReply, Status> {
        let cuts = self.cuts()?;
        if self.is_ending.load(Ordering::Relaxed) {
            return Err(Status::unavailable("the sandbox is shutting down"));
        }
        let frozen = if request.freeze {
            freeze(&self.agent).await
        } else {
            None
        };
        let generations_max = usize::try_from(request.generations_max).unwrap_or(usize::MAX);
        let mut cutting = cuts.begin(generations_max);
        let state = cutting.state().await;
        let was_frozen = match frozen {
            Some(frozen) => was_frozen(frozen).await,
            None => false,
        };
        let state = state.map_err(status)?;
        cutting.durable().await.map_err(status)?;
        Ok(CutDiskReply {
            state: state.to_bytes().into(),
            was_frozen,
        })
    }
}

/// Freezes the filesystem; `None` if the guest does not do so in time.
async fn freeze(agent: &Client) -> Option<FrozenDisk> {
    let mut freezing = agent.clone();
    let heartbeat = agent.heartbeat();
    let reason = tokio::select! {
        biased;
        frozen = freezing.freeze(FREEZE_LIMIT) => match frozen {
            Ok(frozen) => return Some(frozen),
            Err(error) => error.to_string(),
        },
        () = heartbeat.silence(SILENCE_LIMIT) => "its agent is silent".to_owned(),
        () = sleep(FREEZE_TIMEOUT) => "it takes too long".to_owned(),
    };
    log_line(&format!(
        "the guest did not freeze its writable disk, which is cut without a freeze: {reason}"
    ));
    None
}

/// Thaws the filesystem. Returns true if it was frozen until now.
async fn was_frozen(frozen: FrozenDisk) -> bool {
    match timeout(THAW_TIMEOUT, frozen.thaw()).await {
        Ok(Ok(was_frozen)) => was_frozen,
        // The agent thaws it by its own clock.
        Ok(Err(_)) | Err(_) => false,
    }
}

pub(super) fn status(error: CutDiskError) -> Status {
    let message = error.to_string();
    match error {
        CutDiskError::TooMany { .. } => Status::resource_exhausted(message),
        CutDiskError::Disk(_)
        | CutDiskError::Flush(_)
        | CutDiskError::RollBack(_)
        | CutDiskError::Merge(_) => Status::internal(message),
        CutDiskError::Ended => Status::unavailable(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_does_not_answer_is_not_waited_for() {
        let (host, _guest) = tokio::io::duplex(1 << 16);
        let agent = Client::connect_without_limit(host).await;
        let began = tokio::time::Instant::now();
        assert!(freeze(&agent.expect("connected")).await.is_none());
        assert!(began.elapsed() < SILENCE_LIMIT * 2);
    }
}
