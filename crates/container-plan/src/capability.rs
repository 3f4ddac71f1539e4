use prost::Message;

/// The capabilities of Linux, by number (`include/uapi/linux/capability.h`).
pub const CAPABILITIES: [&str; 41] = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_DAC_READ_SEARCH",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETPCAP",
    "CAP_LINUX_IMMUTABLE",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_BROADCAST",
    "CAP_NET_ADMIN",
    "CAP_NET_RAW",
    "CAP_IPC_LOCK",
    "CAP_IPC_OWNER",
    "CAP_SYS_MODULE",
    "CAP_SYS_RAWIO",
    "CAP_SYS_CHROOT",
    "CAP_SYS_PTRACE",
    "CAP_SYS_PACCT",
    "CAP_SYS_ADMIN",
    "CAP_SYS_BOOT",
    "CAP_SYS_NICE",
    "CAP_SYS_RESOURCE",
    "CAP_SYS_TIME",
    "CAP_SYS_TTY_CONFIG",
    "CAP_MKNOD",
    "CAP_LEASE",
    "CAP_AUDIT_WRITE",
    "CAP_AUDIT_CONTROL",
    "CAP_SETFCAP",
    "CAP_MAC_OVERRIDE",
    "CAP_MAC_ADMIN",
    "CAP_SYSLOG",
    "CAP_WAKE_ALARM",
    "CAP_BLOCK_SUSPEND",
    "CAP_AUDIT_READ",
    "CAP_PERFMON",
    "CAP_BPF",
    "CAP_CHECKPOINT_RESTORE",
];

/// The capability sets of a process. Bit `n` is the capability of number `n`; the default sets are empty.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Capabilities {
    /// The bounding set, the limit of what exec grants.
    #[prost(fixed64, tag = "1")]
    pub bounding: u64,
    /// The effective set, a part of the permitted one.
    #[prost(fixed64, tag = "2")]
    pub effective: u64,
    /// The permitted set, which the effective one is taken from.
    #[prost(fixed64, tag = "3")]
    pub permitted: u64,
    /// The inheritable set, which is kept across exec.
    #[prost(fixed64, tag = "4")]
    pub inheritable: u64,
    /// The ambient set, a part of the permitted and of the inheritable one.
    #[prost(fixed64, tag = "5")]
    pub ambient: u64,
}

/// Returns the bit of a capability, such as `CAP_CHOWN`; `None` if the name is unknown.
#[must_use]
pub fn capability_bit(name: &str) -> Option<u64> {
    let number = CAPABILITIES.iter().position(|known| *known == name)?;
    Some(1 << number)
}
