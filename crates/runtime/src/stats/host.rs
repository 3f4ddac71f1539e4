use std::time::Instant;

use fs_err as fs;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

/// Microseconds per unit of `/proc/PID/stat`: `USER_HZ` is 100 on every architecture of msb.
const MICROSECONDS_PER_TICK: u64 = 10_000;

/// The host kernel's accounting of a sandbox's processes: the VMM, network and share processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HostStats {
    /// Time on the host's processors, in microseconds.
    pub processor_us: u64,
    /// Resident memory on the host, in bytes. Memory that several processes share counts for each.
    pub memory_bytes: u64,
    /// Number of the sandbox's processes.
    pub processes: u64,
}

/// One process, from `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    id: i32,
    parent: i32,
    ticks: u64,
}

/// All processes of the host at one moment.
#[derive(Debug, Clone)]
pub struct HostProcesses {
    time: Instant,
    all: Vec<Process>,
}

impl HostProcesses {
    /// Lists the processes.
    /// This takes longer with more processes, so it is called in a thread that may block, once for
    /// all sandboxes.
    pub fn look() -> Self {
        Self {
            time: Instant::now(),
            all: all_processes(),
        }
    }

    /// Returns the time at which the processes were listed.
    pub(super) const fn time(&self) -> Instant {
        self.time
    }

    /// Returns the sum of a process and all its descendants.
    pub(super) fn of_tree(&self, root: Pid) -> HostStats {
        let mut sum = HostStats::default();
        for process in family(root.as_raw_nonzero().get(), &self.all) {
            let status = fs::read(format!("/proc/{}/status", process.id)).unwrap_or_default();
            sum.add(process, resident_bytes(&String::from_utf8_lossy(&status)));
        }
        sum
    }
}

impl HostStats {
    fn add(&mut self, process: Process, memory_bytes: u64) {
        let time_us = process.ticks.saturating_mul(MICROSECONDS_PER_TICK);
        self.processor_us = self.processor_us.saturating_add(time_us);
        self.memory_bytes = self.memory_bytes.saturating_add(memory_bytes);
        self.processes += 1;
    }
}

fn all_processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    // Skips entries that are not processes or have just exited.
    entries
        .filter_map(|entry| fs::read(entry.path().join("stat")).ok())
        .filter_map(|stat| Process::parse(&String::from_utf8_lossy(&stat)))
        .collect()
}

/// Returns the process `root` and its descendants, children after their parents.
fn family(root: i32, all: &[Process]) -> Vec<Process> {
    let mut family: Vec<Process> = all.iter().filter(|one| one.id == root).copied().collect();
    let mut looked_at = 0;
    while let Some(parent) = family.get(looked_at).map(|process| process.id) {
        family.extend(all.iter().filter(|one| one.parent == parent));
        looked_at += 1;
    }
    family
}

impl Process {
    /// Parses `pid (name) state ppid ...`: utime and stime are fields 14 and 15 (proc(5)).
    fn parse(stat: &str) -> Option<Self> {
        let (id, _) = stat.split_once(' ')?;
        let (_, fields) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            id: id.parse().ok()?,
            parent: fields.get(1)?.parse().ok()?,
            ticks: number(14)?.saturating_add(number(15)?),
        })
    }
}

/// Returns the bytes of `VmRSS:   number kB` in `/proc/PID/status`; 0 for an exiting process, which
/// has none.
fn resident_bytes(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim_end().parse().ok());
    kibibytes.map_or(0, |kibibytes: u64| kibibytes.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_it_calls_itself() {
        let stat = "7 (q) R 1 2) S 5 6 7 0 -1 4194560 1 2 3 4 100 50 0 0 20 0 1 0 9 4096 321 1 2";
        let expected = Process {
            id: 7,
            parent: 5,
            ticks: 150,
        };
        assert_eq!(Process::parse(stat), Some(expected));
        assert_eq!(Process::parse("7 (q) S 5"), None);
        assert_eq!(Process::parse(""), None);
        let status = "Name:\tVmRSS: 9 kB\nVmRSS:\t   321 kB\nThreads:\t1\n";
        assert_eq!(resident_bytes(status), 321 * 1024);
        assert_eq!(resident_bytes("Name:\tx\n"), 0);
    }

    #[test]
    fn a_family_is_all_that_descend_from_one() {
        let process = |(id, parent)| Process {
            id,
            parent,
            ticks: 0,
        };
        let all = [(1, 0), (9, 4), (4, 2), (2, 1), (3, 1), (5, 2)].map(process);
        let ids: Vec<i32> = family(2, &all).iter().map(|process| process.id).collect();
        assert_eq!(ids, [2, 4, 5, 9]);
        assert!(family(7, &all).is_empty());
    }

    #[test]
    fn this_process_takes_something() {
        let stats = HostProcesses::look().of_tree(rustix::process::getpid());
        assert!(stats.processes >= 1 && stats.memory_bytes > 0, "{stats:?}");
    }
}
