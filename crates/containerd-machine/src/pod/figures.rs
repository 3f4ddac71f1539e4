//! The figures of a container as containerd's metrics.

use containerd_protocol::metrics::{Cpu, Io, IoEntry, Memory, MemoryEvents, Metrics, Pids};
use msb_agent_protocol::v1::ContainerStatsReply;

/// The major number of virtio disks, as whose only one all disks of the machine are shown (Linux, virtblk; dynamic).
const DISK_MAJOR: u64 = 254;

/// Returns the figures as metrics of cgroup v2. Those that the guest does not have are 0, and so are missing limits.
pub(super) fn metrics(figures: &ContainerStatsReply) -> Metrics {
    let or_zero = |figure: Option<u64>| figure.unwrap_or(0);
    let disk = IoEntry {
        major: DISK_MAJOR,
        minor: 0,
        rbytes: or_zero(figures.io_read_bytes),
        wbytes: or_zero(figures.io_written_bytes),
        rios: or_zero(figures.io_reads),
        wios: or_zero(figures.io_writes),
    };
    Metrics {
        pids: Some(Pids {
            current: or_zero(figures.pids_current),
            limit: or_zero(figures.pids_max),
        }),
        cpu: Some(Cpu {
            usage_usec: or_zero(figures.cpu_usage_us),
            user_usec: or_zero(figures.cpu_user_us),
            system_usec: or_zero(figures.cpu_system_us),
            nr_periods: or_zero(figures.cpu_periods),
            nr_throttled: or_zero(figures.cpu_throttled_periods),
            throttled_usec: or_zero(figures.cpu_throttled_us),
        }),
        memory: Some(Memory {
            anon: or_zero(figures.memory_anon),
            file: or_zero(figures.memory_file),
            slab: or_zero(figures.memory_slab),
            inactive_file: or_zero(figures.memory_inactive_file),
            usage: or_zero(figures.memory_current),
            usage_limit: or_zero(figures.memory_max),
        }),
        io: Some(Io { usage: vec![disk] }),
        memory_events: Some(MemoryEvents {
            oom: or_zero(figures.memory_oom),
            oom_kill: or_zero(figures.memory_oom_kill),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_their_places() {
        let figures = ContainerStatsReply {
            pids_current: Some(1),
            pids_max: Some(2),
            cpu_usage_us: Some(3),
            memory_current: Some(4),
            memory_max: None,
            io_written_bytes: Some(5),
            memory_oom_kill: Some(6),
            ..ContainerStatsReply::default()
        };
        let metrics = metrics(&figures);
        let pids = metrics.pids.expect("it has some");
        assert_eq!((pids.current, pids.limit), (1, 2));
        assert_eq!(metrics.cpu.expect("it has some").usage_usec, 3);
        let memory = metrics.memory.expect("it has some");
        assert_eq!((memory.usage, memory.usage_limit), (4, 0));
        assert_eq!(metrics.io.expect("it has some").usage[0].wbytes, 5);
        assert_eq!(metrics.memory_events.expect("it has some").oom_kill, 6);
    }
}
