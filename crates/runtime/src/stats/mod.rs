//! The resources that a running sandbox uses on its host, and its guest's own statistics.

mod host;

use std::sync::Arc;
use std::time::{Duration, Instant};

use msb_agent_protocol::v1::StatsReply;
use msb_machine_records::untrusted_file;
use msb_network::NetworkTotals;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

pub use host::{HostProcesses, HostStats};

use crate::{ConnectError, Resources, Sandbox};

/// Time limit for the guest's answer with its statistics.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// The statistics of a sandbox at one moment.
#[derive(Debug, Clone)]
pub struct Stats {
    /// Time at which the host's kernel was asked.
    pub time: Instant,
    /// The host kernel's accounting, which the guest cannot influence.
    pub host: HostStats,
    /// The guest's statistics, or on one line the reason that there are none.
    pub guest: Result<GuestStats, String>,
    /// The counters of the network's process since its start; `None` if the sandbox has no network.
    pub network: Option<NetworkTotals>,
    /// Space that the writable disk takes on the host, in bytes.
    pub upper_allocated_bytes: u64,
    /// Resources that the machine was started with.
    pub machine: Resources,
}

/// The guest's own statistics since its start. Any of them may be missing or false.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GuestStats {
    /// Time that all processors together were busy, in microseconds.
    pub processor_busy_us: Option<u64>,
    /// Memory of the guest's kernel, in bytes.
    pub memory_total_bytes: Option<u64>,
    /// Memory that programs can still allocate, in bytes.
    pub memory_available_bytes: Option<u64>,
    /// Bytes read from all disks.
    pub disk_read_bytes: Option<u64>,
    /// Bytes written to all disks.
    pub disk_written_bytes: Option<u64>,
    /// Bytes received over the network device.
    pub network_received_bytes: Option<u64>,
    /// Bytes sent over the network device.
    pub network_sent_bytes: Option<u64>,
    /// Number of threads of all processes, without the agent's and the kernel's.
    pub tasks: Option<u64>,
}

impl GuestStats {
    /// Returns the memory that programs use and the kernel cannot reclaim, in bytes.
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
    /// Returns the statistics of a running sandbox, with its share of all `processes` of the host.
    /// A guest that does not answer, or an agent too old for the call, is not an error.
    ///
    /// # Errors
    /// If the sandbox does not run.
    pub async fn stats(&self, processes: Arc<HostProcesses>) -> Result<Stats, ConnectError> {
        let machine = self.machine_process()?.id();
        let time = processes.time();
        let host = spawn_blocking(move || processes.of_tree(machine));
        let guest = match timeout(ANSWER_TIMEOUT, self.guest_stats()).await {
            Ok(answer) => answer,
            Err(_) => Err(format!(
                "the guest did not answer within {} s",
                ANSWER_TIMEOUT.as_secs()
            )),
        };
        Ok(Stats {
            time,
            // The task does not panic.
            host: host.await.unwrap_or_default(),
            guest,
            network: self.network_totals(),
            upper_allocated_bytes: self.upper_bytes().unwrap_or(0),
            machine: self.machine_resources().ok_or_else(|| self.starting())?,
        })
    }

    fn network_totals(&self) -> Option<NetworkTotals> {
        self.spec.network.as_ref()?;
        let json = untrusted_file::read(&self.files.network_totals()).ok()??;
        serde_json::from_slice(&json).ok()
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
