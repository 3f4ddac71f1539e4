//! The statistics of cgroup v2, package `io.containerd.cgroups.v2`.

use prost::Message;

use crate::Named;

/// The statistics of a container.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Metrics {
    /// The cgroup's processes, `pids.*`.
    #[prost(message, optional, tag = "1")]
    pub pids: Option<Pids>,
    /// Its processor time, `cpu.stat`.
    #[prost(message, optional, tag = "2")]
    pub cpu: Option<Cpu>,
    /// Its memory, `memory.*`, in bytes.
    #[prost(message, optional, tag = "4")]
    pub memory: Option<Memory>,
    /// Its use of block devices, `io.stat`.
    #[prost(message, optional, tag = "6")]
    pub io: Option<Io>,
    /// Events of memory limits.
    #[prost(message, optional, tag = "8")]
    pub memory_events: Option<MemoryEvents>,
}

/// Numbers of processes, `pids.*`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Pids {
    /// Processes and threads now.
    #[prost(uint64, tag = "1")]
    pub current: u64,
    /// The limit; 0 without one.
    #[prost(uint64, tag = "2")]
    pub limit: u64,
}

/// Processor time, `cpu.stat`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Cpu {
    /// Time of all processes, in microseconds.
    #[prost(uint64, tag = "1")]
    pub usage_usec: u64,
    /// Time outside of the kernel, in microseconds.
    #[prost(uint64, tag = "2")]
    pub user_usec: u64,
    /// Time in the kernel, in microseconds.
    #[prost(uint64, tag = "3")]
    pub system_usec: u64,
    /// Periods of the limit.
    #[prost(uint64, tag = "4")]
    pub nr_periods: u64,
    /// Periods in which the limit was reached.
    #[prost(uint64, tag = "5")]
    pub nr_throttled: u64,
    /// Time of waiting because of the limit, in microseconds.
    #[prost(uint64, tag = "6")]
    pub throttled_usec: u64,
}

/// Memory, `memory.stat`, `memory.current` and `memory.max`, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Memory {
    /// Memory of no file.
    #[prost(uint64, tag = "1")]
    pub anon: u64,
    /// Cached content of files.
    #[prost(uint64, tag = "2")]
    pub file: u64,
    /// Structures of the kernel.
    #[prost(uint64, tag = "4")]
    pub slab: u64,
    /// Cached content of files that was not used lately.
    #[prost(uint64, tag = "13")]
    pub inactive_file: u64,
    /// All memory in use, in bytes.
    #[prost(uint64, tag = "32")]
    pub usage: u64,
    /// The most memory allowed, in bytes.
    #[prost(uint64, tag = "33")]
    pub usage_limit: u64,
}

/// Block devices, `io.stat`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Io {
    /// An entry for each device.
    #[prost(message, repeated, tag = "1")]
    pub usage: Vec<IoEntry>,
}

/// The counters of one block device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct IoEntry {
    /// The major number of the device.
    #[prost(uint64, tag = "1")]
    pub major: u64,
    /// The minor number of the device.
    #[prost(uint64, tag = "2")]
    pub minor: u64,
    /// Bytes read from the device.
    #[prost(uint64, tag = "3")]
    pub rbytes: u64,
    /// Bytes written to the device.
    #[prost(uint64, tag = "4")]
    pub wbytes: u64,
    /// Number of reads from the device.
    #[prost(uint64, tag = "5")]
    pub rios: u64,
    /// Number of writes to the device.
    #[prost(uint64, tag = "6")]
    pub wios: u64,
}

/// Events of memory limits, `memory.events`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct MemoryEvents {
    /// Times at which the limit was reached and memory could not be freed.
    #[prost(uint64, tag = "4")]
    pub oom: u64,
    /// Processes that were killed because of the limit.
    #[prost(uint64, tag = "5")]
    pub oom_kill: u64,
}

impl Named for Metrics {
    const TYPE_NAME: &'static str = "io.containerd.cgroups.v2.Metrics";
}
