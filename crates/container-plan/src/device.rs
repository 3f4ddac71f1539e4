use prost::Message;

use crate::DeviceKind;

/// A device node of a container.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Device {
    /// The absolute path in the container.
    #[prost(string, tag = "1")]
    pub path: String,
    /// The kind; not [`DeviceKind::Any`].
    #[prost(enumeration = "DeviceKind", tag = "2")]
    pub kind: i32,
    /// The major number, below 2^12.
    #[prost(uint32, tag = "3")]
    pub major: u32,
    /// The minor number, below 2^20.
    #[prost(uint32, tag = "4")]
    pub minor: u32,
    /// The permission bits, without the type of the file.
    #[prost(uint32, tag = "5")]
    pub mode: u32,
    /// The owner, by number.
    #[prost(uint32, tag = "6")]
    pub uid: u32,
    /// The group, by number.
    #[prost(uint32, tag = "7")]
    pub gid: u32,
}

/// A character device that the agent makes in every container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StandardDevice {
    /// The absolute path in the container.
    pub path: &'static str,
    /// The major number of the device.
    pub major: u32,
    /// The minor number of the device.
    pub minor: u32,
}

/// The devices of every container (OCI runtime specification, config-linux.md, "Default Devices"), with mode 0o666. A
/// plan does not list them. Besides, `/dev/ptmx` is a symlink to `pts/ptmx`, and `/dev/console` is bound to the
/// terminal if there is one.
pub const STANDARD_DEVICES: [StandardDevice; 6] = [
    standard("/dev/null", 1, 3),
    standard("/dev/zero", 1, 5),
    standard("/dev/full", 1, 7),
    standard("/dev/random", 1, 8),
    standard("/dev/urandom", 1, 9),
    standard("/dev/tty", 5, 0),
];

const fn standard(path: &'static str, major: u32, minor: u32) -> StandardDevice {
    StandardDevice { path, major, minor }
}
