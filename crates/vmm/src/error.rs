use std::path::PathBuf;

use crate::{MEMORY_MIN_MIB, SERIAL_MAX_BYTES, SHARE_TAG_MAX_BYTES};

/// The reason why a VMM cannot run on this host, with its remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unavailable {
    /// The missing requirement, a lower-case fragment.
    pub reason: String,
    /// The remedy, as a lower-case fragment for the user.
    pub remedy: String,
    /// The kind of the missing requirement.
    pub requirement: Requirement,
}

/// The kind of thing that a VMM needs of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// A processor with virtualisation.
    Processor,
    /// The device of KVM.
    KvmDevice,
    /// The permission to open the device of KVM.
    KvmPermission,
    /// QEMU for the architecture of the host.
    Qemu,
    /// Anything else.
    Other,
}

/// The error of a machine that did not run, or did not end cleanly.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Starting the machine failed on the host side.
    #[error("cannot {action}")]
    Io {
        /// The action that failed, as a verb phrase: "start qemu-system-x86_64".
        action: String,
        /// The underlying error.
        #[source]
        source: std::io::Error,
    },
    /// The host lacks a requirement of this VMM.
    #[error("{vmm} cannot run on this host")]
    Unavailable {
        /// The VMM's name, as in `--vmm`.
        vmm: &'static str,
        /// The missing requirement.
        #[source]
        source: Unavailable,
    },
    /// The machine has a property that this VMM does not support.
    #[error("{vmm} cannot run this machine")]
    Input {
        /// The VMM's name, as in `--vmm`.
        vmm: &'static str,
        /// The unsupported property.
        #[source]
        source: InvalidMachine,
    },
    /// The VMM process could not be confined, so it runs nothing.
    #[error("cannot confine the virtual machine's process")]
    Jail {
        /// The error of the confinement.
        #[source]
        source: msb_jail::JailError,
    },
    /// The VMM itself refused or died.
    #[error("{vmm} ended with {outcome}")]
    Failed {
        /// The VMM's name, as in `--vmm`.
        vmm: &'static str,
        /// Its exit status or error number, with its output.
        outcome: String,
    },
}

/// A property of a machine that no VMM, or not this one, supports.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMachine {
    /// The number of processors is 0.
    #[error("a machine needs at least one processor")]
    NoCpus,
    /// The memory is too small for the kernel.
    #[error("{memory_mib} MiB of memory is too little, the minimum is {MEMORY_MIN_MIB} MiB")]
    TooLittleMemory {
        /// The requested memory, in MiB.
        memory_mib: u32,
    },
    /// There are more disks and shares than the VMM has slots.
    #[error(
        "{disks} disks and {shares} shares are too many: the limit is {limit} together, with the \
         three disks that every sandbox has"
    )]
    TooManyDevices {
        /// The number of disks.
        disks: usize,
        /// Number of shares.
        shares: usize,
        /// The limit on their sum.
        limit: usize,
    },
    /// The index of the root disk is out of range.
    #[error("the root disk is number {index}, but the machine has {disks} disks, counted from 0")]
    NoRootDisk {
        /// The index, from 0.
        index: usize,
        /// The number of disks.
        disks: usize,
    },
    /// A serial is too long, is not unique, or has characters that cannot be passed to a VMM.
    #[error(
        "disk serial '{serial}' is not 1 to {SERIAL_MAX_BYTES} letters, digits, '-', '_' or '.', \
         or is used twice"
    )]
    Serial {
        /// The serial that was refused.
        serial: String,
    },
    /// A tag is too long, is not unique, or has characters that cannot be passed to a VMM.
    #[error(
        "the tag '{tag}' of a share is not 1 to {SHARE_TAG_MAX_BYTES} letters, digits, '-', \
         '_' or '.', or is used twice"
    )]
    Tag {
        /// The tag that was refused.
        tag: String,
    },
    /// More than one directory in a device of a VMM that serves shares itself.
    #[error("the share '{tag}' does not show exactly one directory")]
    ShareContent {
        /// Its tag.
        tag: String,
    },
    /// Shares without a socket each, where the VMM does not serve them itself, or the other way.
    #[error("the machine has {shares} shares, but {sockets} sockets for them")]
    ShareSockets {
        /// The number of shares.
        shares: usize,
        /// The number of sockets.
        sockets: usize,
    },
    /// Served disks that the VMM does not get, or not in the way in which it uses them.
    #[error("the machine has {disks} served disks, and the VMM can use {served} of those it gets")]
    ServedDisks {
        /// The number of served disks.
        disks: usize,
        /// The number of disks that the VMM can use.
        served: usize,
    },
    /// There is a network device without a socket, or a socket without a device.
    #[error(
        "a network device needs a socket for its frames, and such a socket needs a network device"
    )]
    NetworkSocket,
    /// A path has bytes that this VMM's interface cannot express.
    #[error("the path {} cannot be passed to the VMM: it is not UTF-8 or contains a NUL", .path.display())]
    Path {
        /// The path that was refused.
        path: PathBuf,
    },
    /// An argument is not one word of printable ASCII.
    #[error("kernel argument '{}' is not one word of printable ASCII", .argument.escape_debug())]
    KernelArgument {
        /// The argument that was refused.
        argument: String,
    },
    /// The command line is longer than the kernel accepts.
    #[error("the kernel command line has {length_bytes} bytes, the limit is {limit_bytes}")]
    CommandLineTooLong {
        /// Its length in bytes.
        length_bytes: usize,
        /// The limit in bytes.
        limit_bytes: usize,
    },
}
