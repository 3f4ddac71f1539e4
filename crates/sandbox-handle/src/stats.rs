use std::sync::Arc;
use std::time::{Duration, Instant};

use msb_runtime::{HostProcesses, Sandbox as StoredSandbox};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use msb_client::{Error, ErrorKind, Operation, Shared, blocking};
pub use msb_runtime::network::NetworkTotals;
pub use msb_runtime::{GuestStats, HostStats};

use crate::Handle;

/// The time between the two samples of one `Sandbox::stats`.
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
    /// The counters of the network since the start, which the guest cannot forge; `None` without a network.
    pub network: Option<NetworkTotals>,
    /// The guest's own statistics; `None` if it does not answer.
    pub guest: Option<GuestStats>,
    /// The reason for which the guest has no statistics.
    pub guest_error: Option<String>,
}

/// A sample of the statistics of several sandboxes, for the comparison with a later one.
#[derive(Debug, Default)]
pub struct StatsSample {
    taken: Vec<Taken>,
    failures: Vec<(String, Error)>,
}

/// One sandbox in a sample.
#[derive(Debug)]
struct Taken {
    time: Instant,
    stats: Stats,
}

impl StatsSample {
    /// Returns true if no sandbox could be sampled.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// Returns the sandboxes that could not be sampled, by name;
    /// [`NotRunning`](ErrorKind::NotRunning) for those that have ended.
    pub fn failures(&self) -> &[(String, Error)] {
        &self.failures
    }

    /// Returns the failures, and forgets them.
    pub fn take_failures(&mut self) -> Vec<(String, Error)> {
        std::mem::take(&mut self.failures)
    }

    /// Returns the statistics of each sandbox, with its use of processors since an earlier sample;
    /// 0 if that does not have the sandbox.
    pub fn since(&self, earlier: &Self) -> Vec<Stats> {
        let since = |now: &Taken| {
            let mut same = earlier
                .taken
                .iter()
                .filter(|then| then.stats.id == now.stats.id);
            Stats {
                cpu_percent: same.next().map_or(0.0, |then| cpu_percent(then, now)),
                ..now.stats.clone()
            }
        };
        self.taken.iter().map(since).collect()
    }
}

/// Samples these sandboxes at the same time.
async fn sample_all(sandboxes: Vec<StoredSandbox>) -> Result<StatsSample, Error> {
    // The host's processes are listed once for all sandboxes.
    let processes = Arc::new(blocking(|| Ok::<_, Error>(HostProcesses::look())).await?);
    let looks: Vec<_> = sandboxes
        .into_iter()
        .map(|stored| {
            let processes = Arc::clone(&processes);
            tokio::spawn(async move {
                let name = stored.spec.name.clone();
                (name, take(&stored, processes).await)
            })
        })
        .collect();
    let mut sample = StatsSample::default();
    for look in looks {
        match look.await {
            Ok((_, Ok(taken))) => sample.taken.push(taken),
            Ok((name, Err(error))) => sample.failures.push((name, error)),
            Err(_) => return Err(Error::internal("cannot sample a sandbox")),
        }
    }
    Ok(sample)
}

async fn take(stored: &StoredSandbox, processes: Arc<HostProcesses>) -> Result<Taken, Error> {
    let stats = stored.stats(processes).await?;
    let (guest, guest_error) = match stats.guest {
        Ok(guest) => (Some(guest), None),
        Err(error) => (None, Some(msb_client::printable(&error))),
    };
    Ok(Taken {
        time: stats.time,
        stats: Stats {
            id: stored.spec.id.to_string(),
            name: stored.spec.name.clone(),
            cpu_percent: 0.0,
            memory_limit_bytes: u64::from(stats.machine.memory_mib) << 20,
            upper_allocated_bytes: stats.upper_allocated_bytes,
            upper_size_bytes: stats.machine.upper_bytes,
            host: stats.host,
            network: stats.network,
            guest,
            guest_error,
        },
    })
}

/// Samples a running sandbox twice.
pub fn sample(handle: Arc<Handle>) -> Operation<Stats> {
    Operation::new(async move {
        let before = sample_one(&handle).await?;
        tokio::time::sleep(SAMPLE_INTERVAL).await;
        only(sample_one(&handle).await?.since(&before))
    })
}

/// Samples these sandboxes; all that run if `None`.
pub fn sample_several(
    shared: Arc<Shared>,
    sandboxes: Option<Vec<StoredSandbox>>,
) -> Operation<StatsSample> {
    Operation::new(async move {
        let sandboxes = match sandboxes {
            Some(sandboxes) => sandboxes,
            None => shared.with_home(running).await?,
        };
        sample_all(sandboxes).await
    })
}

fn running(shared: &Shared) -> Result<Vec<StoredSandbox>, Error> {
    let mut running = Vec::new();
    for sandbox in StoredSandbox::all(shared.home())? {
        if sandbox.state()?.is_up() {
            running.push(sandbox);
        }
    }
    Ok(running)
}

/// Samples the sandbox of a handle. Fails if it cannot be sampled.
async fn sample_one(handle: &Handle) -> Result<StatsSample, Error> {
    let mut sample = sample_all(vec![handle.stored()]).await?;
    match sample.failures.pop() {
        Some((_, error)) => Err(error),
        None => Ok(sample),
    }
}

fn only(mut stats: Vec<Stats>) -> Result<Stats, Error> {
    stats
        .pop()
        .ok_or_else(|| Error::internal("the sandbox was not sampled"))
}

fn cpu_percent(before: &Taken, now: &Taken) -> f64 {
    let elapsed = now.time.saturating_duration_since(before.time);
    let used_us = |taken: &Taken| taken.stats.host.processor_us;
    let busy_us = used_us(now).saturating_sub(used_us(before));
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
    before: Mutex<Option<StatsSample>>,
}

impl StatsWatch {
    /// Returns a watch that samples a sandbox at an interval.
    pub fn new(handle: Arc<Handle>, interval: Duration) -> Self {
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
        match self.sample(&mut before).await {
            Err(error) if error.kind() == ErrorKind::NotRunning => Ok(None),
            sampled => sampled.map(Some),
        }
    }

    async fn sample(&self, before: &mut Option<StatsSample>) -> Result<Stats, Error> {
        let earlier = match before.take() {
            Some(earlier) => before.insert(earlier),
            None => before.insert(sample_one(&self.handle).await?),
        };
        tokio::time::sleep(self.interval).await;
        let now = sample_one(&self.handle).await?;
        let stats = only(now.since(earlier));
        *earlier = now;
        stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_of_one_processor() {
        let start = Instant::now();
        let sample = |after_s, processor_us| {
            let stats = serde_json::json!({
                "id": "1", "name": "a", "cpu_percent": 0.0, "memory_limit_bytes": 0,
                "upper_allocated_bytes": 0, "upper_size_bytes": 0,
                "host": {"processor_us": processor_us, "memory_bytes": 0, "processes": 1},
                "guest": null, "guest_error": "silent",
            });
            StatsSample {
                taken: vec![Taken {
                    time: start + Duration::from_secs(after_s),
                    stats: serde_json::from_value(stats).expect("statistics"),
                }],
                failures: Vec::new(),
            }
        };
        let percent = |before: &StatsSample, now: &StatsSample| now.since(before)[0].cpu_percent;
        assert!((percent(&sample(0, 0), &sample(2, 3_000_000)) - 150.0).abs() < 0.01);
        // A process of the sandbox's process group has ended.
        assert!(percent(&sample(0, 5), &sample(2, 0)).abs() < 0.01);
        assert!(percent(&sample(0, 0), &sample(0, 9)).abs() < 0.01);
        // The sandbox was started after the earlier sample.
        assert!(percent(&StatsSample::default(), &sample(2, 9)).abs() < 0.01);
    }
}
