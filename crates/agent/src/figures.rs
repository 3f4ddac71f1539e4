//! Statistics of the guest's kernel, for the host.

use std::fs;

use msb_agent_protocol::v1::StatsReply;

use crate::guarded_file::read_regular;

/// The most that is read of one file in `/proc`, in bytes.
const FILE_MAX_BYTES: u64 = 1 << 20;
/// The unit of `/proc/stat`, in microseconds: `USER_HZ` is 100 on every supported architecture.
const MICROSECONDS_PER_TICK: u64 = 10_000;
/// The unit of `/proc/diskstats`, in bytes, whatever the disk's sector size.
const SECTOR_BYTES: u64 = 512;
/// The network device that the host gives the guest.
const NETWORK_DEVICE: &str = "eth0";
/// The prefix of the names of the host's disks.
const DISK_PREFIX: &str = "vd";
/// `PF_KTHREAD` (linux/sched.h), the flag of the kernel's own threads.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Reads all statistics. A value that cannot be read is left out.
pub(crate) fn read() -> StatsReply {
    let memory = text("/proc/meminfo").unwrap_or_default();
    let disks = text("/proc/diskstats").and_then(|text| disk_bytes(&text));
    let network = text("/proc/net/dev").and_then(|text| network_bytes(&text));
    StatsReply {
        processor_busy_us: text("/proc/stat").and_then(|text| busy_us(&text)),
        memory_total_bytes: memory_bytes(&memory, "MemTotal"),
        memory_available_bytes: memory_bytes(&memory, "MemAvailable"),
        disk_read_bytes: disks.map(|(read, _)| read),
        disk_written_bytes: disks.map(|(_, written)| written),
        network_received_bytes: network.map(|(received, _)| received),
        network_sent_bytes: network.map(|(_, sent)| sent),
        tasks: tasks(),
    }
}

fn text(path: &str) -> Option<String> {
    let bytes = read_regular(path, FILE_MAX_BYTES).ok()?;
    // A process may have a name that is not UTF-8.
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Sums the busy times of all processors: all but idle, iowait and steal. The line is
/// `cpu  user nice system idle iowait irq softirq steal ...`.
fn busy_us(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = numbers(line);
    let busy = [0, 1, 2, 5, 6].iter().map(|&index| ticks.get(index));
    let busy = busy
        .flatten()
        .fold(0, |sum: u64, &ticks| sum.saturating_add(ticks));
    Some(busy.saturating_mul(MICROSECONDS_PER_TICK))
}

/// Returns the value of the line `Name:   number kB`, in bytes.
fn memory_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(':')?.to_owned());
    let value = meminfo.lines().find_map(value)?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Sums the bytes read from and written to all disks. A line is
/// `major minor name reads merged sectors ms writes merged sectors ...`.
fn disk_bytes(diskstats: &str) -> Option<(u64, u64)> {
    let mut sum = None;
    for line in diskstats.lines() {
        let mut words = line.split_whitespace().skip(2);
        let name = words.next().unwrap_or_default();
        let is_disk =
            name.starts_with(DISK_PREFIX) && !name.ends_with(|c: char| c.is_ascii_digit());
        if is_disk {
            let counts = numbers(&words.collect::<Vec<_>>().join(" "));
            let bytes = |index| {
                counts
                    .get(index)
                    .map(|&count| SECTOR_BYTES.saturating_mul(count))
            };
            sum = add(sum, (bytes(2)?, bytes(6)?));
        }
    }
    sum
}

fn add(sum: Option<(u64, u64)>, more: (u64, u64)) -> Option<(u64, u64)> {
    let (a, b) = sum.unwrap_or_default();
    Some((a.saturating_add(more.0), b.saturating_add(more.1)))
}

/// Returns the bytes received and sent. A line is
/// `name: bytes packets errs drop fifo frame compressed multicast bytes ...`.
fn network_bytes(devices: &str) -> Option<(u64, u64)> {
    let counts = devices.lines().find_map(|line| {
        let (name, counts) = line.split_once(':')?;
        (name.trim() == NETWORK_DEVICE).then(|| numbers(counts))
    })?;
    Some((*counts.first()?, *counts.get(8)?))
}

/// Returns the leading numbers of a line.
fn numbers(line: &str) -> Vec<u64> {
    line.split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect()
}

/// Counts all threads of all processes except this one and the kernel's.
fn tasks() -> Option<u64> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let own = std::process::id();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let threads = pids
        .filter(|&pid| pid != own)
        .filter_map(|pid| threads(&text(&format!("/proc/{pid}/stat"))?));
    Some(threads.fold(0, u64::saturating_add))
}

/// Returns the number of threads of a process; `None` for a thread of the kernel. The line is
/// `pid (name) state ppid pgrp session tty tpgid flags ... num_threads` (field 20).
/// The name may contain anything, brackets too.
fn threads(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let flags: u64 = fields.nth(6)?.parse().ok()?;
    let threads = fields.nth(10)?.parse().ok()?;
    (flags & KERNEL_THREAD == 0).then_some(threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_counted_where_something_ran() {
        let stat = "cpu  1 2 3 1000 2000 4 5 3000 9 9\ncpu0 9 9 9 9\n";
        assert_eq!(busy_us(stat), Some(150_000));
        assert_eq!(busy_us("cpu  18446744073709551615 1"), Some(u64::MAX));
        assert_eq!(busy_us("cpu0 1"), None);
    }

    #[test]
    fn memory_is_in_bytes() {
        let meminfo = "MemTotal:        1000 kB\nMemAvailable:   18446744073709551615 kB\nX: 1\n";
        assert_eq!(memory_bytes(meminfo, "MemTotal"), Some(1_024_000));
        assert_eq!(memory_bytes(meminfo, "MemAvailable"), None);
        assert_eq!(memory_bytes(meminfo, "MemFree"), None);
    }

    #[test]
    fn disks_are_added_and_their_parts_are_not() {
        let text = " 7 0 loop0 9 9 9 9 9 9 9 9\n 254 0 vda 95 0 2 950 0 0 1 0 0\n \
            254 1 vda1 9 9 9 9 9 9 9 9\n 254 16 vdb 24 0 3 261 7 0 4 25 0\n";
        assert_eq!(disk_bytes(text), Some((5 * 512, 5 * 512)));
        assert_eq!(disk_bytes("254 0 vda 1"), None);
    }

    #[test]
    fn the_network_is_the_hosts_device() {
        let text = " face |bytes\n    lo: 9 9 9 9 9 9 9 9 9 9\n  eth0: 10 1 0 0 0 0 0 0 20 1 0\n";
        assert_eq!(network_bytes(text), Some((10, 20)));
        assert_eq!(network_bytes("eth0: 10"), None);
    }

    #[test]
    fn a_name_does_not_hide_its_threads() {
        let user = "5 (a) R 1 (2)) S 1 5 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 100";
        assert_eq!(threads(user), Some(3));
        let kernel = "5 (kworker) S 1 5 5 0 -1 69238880 1 2 3 4 5 6 7 8 20 0 1 0 100";
        assert_eq!(threads(kernel), None);
        assert_eq!(threads("5 (a"), None);
    }

    #[test]
    fn this_kernel_counts() {
        let figures = read();
        assert!(figures.processor_busy_us.is_some_and(|time| time > 0));
        assert!(figures.memory_available_bytes <= figures.memory_total_bytes);
        assert!(figures.memory_total_bytes.is_some());
    }
}
