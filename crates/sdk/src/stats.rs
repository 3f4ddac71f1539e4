use std::sync::Arc;
use std::time::{Duration, Instant};

use msb_runtime::HostProcesses;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::operation::blocking;
use crate::sandboxes::Handle;
use crate::{Error, ErrorKind, Operation};

/// The time between the two samples of one [`Sandbox::stats`](crate::Sandbox::stats).
const SAMPLE_INTERVAL: Duration = Duration::from_millis(500);

/// The statistics of a sandbox at one moment, with the keys of `msb stats --format json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stats {
    /// The sandbox's id.
    pub id: String,
    /// The sandbox's name.
    pub name: String,
    /// Use of the host's processors since the sample before; 100 is one processor.
    pub cpu_percent: f64,
    /// The guest's memory, in bytes.
    pub memory_limit_bytes: u64,
    /// The space that the writable disk takes on the host, in bytes.
    pub upper_allocated_bytes: u64,
    /// The size of the writable disk in the guest, in bytes.
    pub upper_size_bytes: u64,
    /// The host kernel's accounting, which the guest cannot influence.
    pub host: HostStats,
    /// The guest's own statistics; `None` if it does not answer.
    pub guest: Option<GuestStats>,
    /// The reason for which the guest has no statistics.
    pub guest_error: Option<String>,
}

/// The host kernel's accounting of a sandbox's processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HostStats {
    /// Time on the host's processors, in microseconds.
    pub processor_us: u64,
    /// Resident memory on the host, in bytes.
    pub memory_bytes: u64,
    /// Number of the sandbox's processes on the host.
    pub processes: u64,
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

impl From<msb_runtime::GuestStats> for GuestStats {
    fn from(stats: msb_runtime::GuestStats) -> Self {
        Self {
            processor_busy_us: stats.processor_busy_us,
            memory_total_bytes: stats.memory_total_bytes,
            memory_available_bytes: stats.memory_available_bytes,
            disk_read_bytes: stats.disk_read_bytes,
            disk_written_bytes: stats.disk_written_bytes,
            network_received_bytes: stats.network_received_bytes,
            network_sent_bytes: stats.network_sent_bytes,
            tasks: stats.tasks,
        }
    }
}

impl GuestStats {
    /// Returns the memory that programs use and the kernel cannot reclaim, in bytes.
    pub fn memory_used_bytes(&self) -> Option<u64> {
        let total_bytes = self.memory_total_bytes?;
        Some(total_bytes.saturating_sub(self.memory_available_bytes?))
    }
}

/// One sample, and its time.
#[derive(Debug)]
struct Sample {
    time: Instant,
    processor_us: u64,
}

pub(crate) fn sample(handle: Arc<Handle>) -> Operation<Stats> {
    Operation::new(async move {
        let (_, before) = look(&handle, None).await?;
        tokio::time::sleep(SAMPLE_INTERVAL).await;
        Ok(look(&handle, Some(&before)).await?.0)
    })
}

async fn look(handle: &Handle, before: Option<&Sample>) -> Result<(Stats, Sample), Error> {
    let processes = blocking(|| Ok::<_, Error>(HostProcesses::look())).await?;
    let stored = handle.stored();
    let stats = stored.stats(Arc::new(processes)).await?;
    let sample = Sample {
        time: stats.time,
        processor_us: stats.host.processor_us,
    };
    let (guest, guest_error) = match stats.guest {
        Ok(guest) => (Some(guest.into()), None),
        Err(error) => (None, Some(crate::error::printable(&error))),
    };
    let stats = Stats {
        id: stored.spec.id.to_string(),
        name: stored.spec.name.clone(),
        cpu_percent: before.map_or(0.0, |before| cpu_percent(before, &sample)),
        memory_limit_bytes: u64::from(stats.machine.memory_mib) << 20,
        upper_allocated_bytes: stats.upper_allocated_bytes,
        upper_size_bytes: stats.machine.upper_bytes,
        host: HostStats {
            processor_us: stats.host.processor_us,
            memory_bytes: stats.host.memory_bytes,
            processes: stats.host.processes,
        },
        guest,
        guest_error,
    };
    Ok((stats, sample))
}

fn cpu_percent(before: &Sample, now: &Sample) -> f64 {
    let elapsed = now.time.saturating_duration_since(before.time);
    let busy_us = now.processor_us.saturating_sub(before.processor_us);
    if elapsed.is_zero() {
        return 0.0;
    }
    let percent = 100.0 * Duration::from_micros(busy_us).as_secs_f64() / elapsed.as_secs_f64();
    (percent * 100.0).round() / 100.0
}

/// A stream of statistics.
#[derive(Debug)]
pub struct StatsWatch {
    handle: Arc<Handle>,
    interval: Duration,
    before: Mutex<Option<Sample>>,
}

impl StatsWatch {
    pub(crate) fn new(handle: Arc<Handle>, interval: Duration) -> Self {
        Self {
            handle,
            interval,
            before: Mutex::default(),
        }
    }

    /// Returns the next sample, one interval after the one before; `None` once the sandbox does not
    /// run.
    ///
    /// # Errors
    /// If the statistics cannot be read.
    pub async fn next(&self) -> Result<Option<Stats>, Error> {
        let mut before = self.before.lock().await;
        if before.is_none() {
            match look(&self.handle, None).await {
                Ok((_, sample)) => *before = Some(sample),
                Err(error) if error.kind() == ErrorKind::NotRunning => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        tokio::time::sleep(self.interval).await;
        match look(&self.handle, before.as_ref()).await {
            Ok((stats, sample)) => {
                *before = Some(sample);
                Ok(Some(stats))
            }
            Err(error) if error.kind() == ErrorKind::NotRunning => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_of_one_processor() {
        let start = Instant::now();
        let sample = |after_s, processor_us| Sample {
            time: start + Duration::from_secs(after_s),
            processor_us,
        };
        let percent = cpu_percent(&sample(0, 0), &sample(2, 3_000_000));
        assert!((percent - 150.0).abs() < 0.01);
        // A process of the sandbox's process group has ended.
        assert!(cpu_percent(&sample(0, 5), &sample(2, 0)).abs() < 0.01);
        assert!(cpu_percent(&sample(0, 0), &sample(0, 9)).abs() < 0.01);
    }
}
