use std::path::PathBuf;

use crate::{MEMORY_MIN_MIB, SERIAL_MAX_BYTES, SHARE_TAG_MAX_BYTES};

/// Why a VMM cannot run on this host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unavailable {
    /// What is missing: a lower-case fragment.
    pub reason: String,
    /// What the user can do about it, one sentence.
    pub remedy: String,
}

/// Why a machine did not run, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The host side of starting it failed.
    #[error("cannot {action}")]
    Io {
        /// What was tried: "start qemu-system-x86_64".
        action: String,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The host lacks what this VMM needs.
    #[error("{vmm} cannot run on this host")]
    Unavailable {
        /// Which VMM.
        vmm: &'static str,
        /// What is missing.
        #[source]
        source: Unavailable,
    },
    /// The description asks for what this VMM cannot give.
    #[error("{vmm} cannot run this machine")]
    Input {
        /// Which VMM.
        vmm: &'static str,
        /// What it cannot give.
        #[source]
        source: InvalidMachine,
    },
    /// The process that runs it is not confined, so it runs nothing.
    #[error("cannot confine the virtual machine's process")]
    Jail {
        /// Why.
        #[source]
        source: msb_jail::JailError,
    },
    /// The VMM itself refused or died.
    #[error("{vmm} ended with {outcome}")]
    Failed {
        /// Which VMM.
        vmm: &'static str,
        /// Its exit status or error number, with what it said.
        outcome: String,
    },
}

/// What no VMM, or not this one, can give a machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMachine {
    /// No processor.
    #[error("a machine needs at least one processor")]
    NoCpus,
    /// Not enough memory for the kernel.
    #[error("{memory_mib} MiB of memory are too little, the least is {MEMORY_MIN_MIB} MiB")]
    TooLittleMemory {
        /// What was asked for.
        memory_mib: u32,
    },
    /// More disks and shares than the VMM has places for.
    #[error(
        "{disks} disks and {shares} shared directories are too many, the most is {limit} together, \
         and three disks are every sandbox's own"
    )]
    TooManyDevices {
        /// How many disks there are.
        disks: usize,
        /// How many shared directories there are.
        shares: usize,
        /// How many there may be.
        limit: usize,
    },
    /// The root disk is none of the disks.
    #[error("the root disk is number {index}, and there are {disks} disks counted from 0")]
    NoRootDisk {
        /// Which was named.
        index: usize,
        /// How many there are.
        disks: usize,
    },
    /// A serial that would be cut, cannot be told from another, or cannot be said to a VMM.
    #[error(
        "disk serial '{serial}' is not 1 to {SERIAL_MAX_BYTES} letters, digits, '-', '_' or '.', \
         or is used twice"
    )]
    Serial {
        /// The serial.
        serial: String,
    },
    /// A tag that cannot be told from another, or cannot be said to a VMM.
    #[error(
        "the tag '{tag}' of a shared directory is not 1 to {SHARE_TAG_MAX_BYTES} letters, digits, '-', \
         '_' or '.', or is used twice"
    )]
    Tag {
        /// The tag.
        tag: String,
    },
    /// Shares without a socket each, where the VMM does not serve them itself, or the other way.
    #[error("{shares} shared directories and {sockets} sockets for them do not go together")]
    ShareSockets {
        /// How many shares there are.
        shares: usize,
        /// How many sockets there are.
        sockets: usize,
    },
    /// Writes would go to files that other machines share.
    #[error("the VMDK disk {} cannot be writable", .path.display())]
    WritableVmdk {
        /// Which file.
        path: PathBuf,
    },
    /// A network device without a socket, or a socket without a device.
    #[error("a network device and a socket for its frames go together")]
    NetworkSocket,
    /// A path with bytes that this VMM's interface cannot express.
    #[error("the path {} cannot be passed on: it is not UTF-8 or holds a NUL", .path.display())]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// Not one word of printable ASCII.
    #[error("kernel argument '{}' is not one word of printable ASCII", .argument.escape_debug())]
    KernelArgument {
        /// The argument.
        argument: String,
    },
    /// Longer than what the kernel keeps.
    #[error("the kernel command line has {length_bytes} bytes, the limit is {limit_bytes}")]
    CommandLineTooLong {
        /// How long it is.
        length_bytes: usize,
        /// How long it may be.
        limit_bytes: usize,
    },
}
