use prost::{Enumeration, Message};

/// The files of a control group of version 2 that a plan can write.
const CONTROL_FILES: [&str; 18] = [
    "cgroup.max.depth",
    "cgroup.max.descendants",
    "cpu.idle",
    "cpu.max",
    "cpu.max.burst",
    "cpu.weight",
    "cpu.weight.nice",
    "cpuset.cpus",
    "cpuset.cpus.partition",
    "cpuset.mems",
    "memory.high",
    "memory.low",
    "memory.max",
    "memory.min",
    "memory.oom.group",
    "memory.swap.high",
    "memory.swap.max",
    "pids.max",
];

/// The control group of a container. The agent makes it below the group of the pod, and names it after the container.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Cgroup {
    /// The values, written in this order.
    #[prost(message, repeated, tag = "1")]
    pub controls: Vec<Control>,
    /// The access to devices: for each kind of access, the last rule that matches decides. Without a rule all access
    /// is allowed. With rules, a container keeps its standard devices and its terminals, and can make nodes.
    #[prost(message, repeated, tag = "2")]
    pub device_rules: Vec<DeviceRule>,
}

/// A value of a control group.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Control {
    /// The name of the file, for which [`is_control_file`] is true.
    #[prost(string, tag = "1")]
    pub file: String,
    /// The value, one line without its end.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A rule for the access to devices.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct DeviceRule {
    /// True if the rule allows, false if it denies.
    #[prost(bool, tag = "1")]
    pub is_allowed: bool,
    /// The kind of the devices.
    #[prost(enumeration = "DeviceKind", tag = "2")]
    pub kind: i32,
    /// The major number; `None` for all of them.
    #[prost(uint32, optional, tag = "3")]
    pub major: Option<u32>,
    /// The minor number; `None` for all of them.
    #[prost(uint32, optional, tag = "4")]
    pub minor: Option<u32>,
    /// The access: some of the letters `r` (read), `w` (write) and `m` (mknod).
    #[prost(string, tag = "5")]
    pub access: String,
}

/// A kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum DeviceKind {
    /// Both kinds; only in a rule.
    Any = 0,
    /// A character device, `c` in config.json.
    Character = 1,
    /// A block device, `b` in config.json.
    Block = 2,
}

/// Returns true if a plan can write this file of a control group of version 2.
#[must_use]
pub fn is_control_file(name: &str) -> bool {
    CONTROL_FILES.contains(&name)
}
