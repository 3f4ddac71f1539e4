//! What a sandbox that runs takes of its host, and what its guest says of itself.

mod host;

use std::sync::Arc;
use std::time::{Duration, Instant};

use msb_agent_protocol::v1::StatsReply;
use serde::Serialize;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

pub use host::{HostProcesses, HostStats};

use crate::{ReachError, Resources, Sandbox};

/// How long a guest may take to say what it has counted.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);

/// What is known of a sandbox at one moment.
#[derive(Debug, Clone)]
pub struct Stats {
    /// When the host's kernel was asked.
    pub time: Instant,
    /// What the host's kernel counts. The guest has no say in it.
    pub host: HostStats,
    /// What the guest says of itself, or on one line why it says nothing.
    pub guest: Result<GuestStats, String>,
    /// What its writable disk takes on the host, in bytes.
    pub upper_allocated_bytes: u64,
    /// What its machine was given when it was started.
    pub machine: Resources,
}

/// What a guest says of itself, since it was started. Any of it may be missing, or a lie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct GuestStats {
    /// Time that its processors were busy, of all of them together, in microseconds.
    pub processor_busy_us: Option<u64>,
    /// Memory that the kernel has, in bytes.
    pub memory_total_bytes: Option<u64>,
    /// Memory that programs could still have, in bytes.
    pub memory_available_bytes: Option<u64>,
    /// Read from all disks, in bytes.
    pub disk_read_bytes: Option<u64>,
    /// Written to all disks, in bytes.
    pub disk_written_bytes: Option<u64>,
    /// Received over the network device, in bytes.
    pub network_received_bytes: Option<u64>,
    /// Sent over the network device, in bytes.
    pub network_sent_bytes: Option<u64>,
    /// Processes and threads that run.
    pub tasks: Option<u64>,
}

impl GuestStats {
    /// Memory that programs have and cannot be given up, in bytes.
    pub fn memory_used_bytes(&self) -> Option<u64> {
        let total_bytes = self.memory_total_bytes?;
        Some(total_bytes.saturating_sub(self.memory_available_bytes?))
    }
}

impl From<StatsReply> for GuestStats {
    fn from(reply: StatsReply) -> Self {
        Self {
            processor_busy_us: reply.processor_busy_us,
            memory_total_bytes: reply.memory_total_bytes,
            memory_available_bytes: reply.memory_available_bytes,
            disk_read_bytes: reply.disk_read_bytes,
            disk_written_bytes: reply.disk_written_bytes,
            network_received_bytes: reply.network_received_bytes,
            network_sent_bytes: reply.network_sent_bytes,
            tasks: reply.tasks,
        }
    }
}

impl Sandbox {
    /// Looks at what a sandbox that runs takes, of what all `processes` of the host take. A guest that
    /// says nothing, or an agent that is older than the question, is no error.
    ///
    /// # Errors
    /// When it does not run.
    pub async fn stats(&self, processes: Arc<HostProcesses>) -> Result<Stats, ReachError> {
        let pid = self.process_id()?;
        let time = processes.time();
        let host = spawn_blocking(move || processes.of_tree(pid));
        let guest = match timeout(ANSWER_LIMIT, self.guest_stats()).await {
            Ok(answer) => answer,
            Err(_) => Err(format!(
                "the guest did not answer within {} s",
                ANSWER_LIMIT.as_secs()
            )),
        };
        Ok(Stats {
            time,
            // Nothing in it panics.
            host: host.await.unwrap_or_default(),
            guest,
            upper_allocated_bytes: self.allocated_bytes().unwrap_or(0),
            machine: self.machine_resources().ok_or_else(|| self.starting())?,
        })
    }

    async fn guest_stats(&self) -> Result<GuestStats, String> {
        let mut client = self.connect().await.map_err(|error| error.to_string())?;
        let reply = client.stats().await.map_err(|error| error.to_string())?;
        Ok(reply.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_lies_about_its_memory_uses_none() {
        let guest = |total, available| GuestStats {
            memory_total_bytes: total,
            memory_available_bytes: available,
            ..GuestStats::default()
        };
        assert_eq!(guest(Some(10), Some(4)).memory_used_bytes(), Some(6));
        assert_eq!(guest(Some(10), Some(u64::MAX)).memory_used_bytes(), Some(0));
        assert_eq!(guest(None, Some(1)).memory_used_bytes(), None);
    }
}
