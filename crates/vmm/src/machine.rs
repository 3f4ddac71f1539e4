use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The name of the virtio-console port that the guest agent talks through.
pub const AGENT_PORT_NAME: &str = "msb.agent";

/// The longest disk serial, in bytes (`VIRTIO_BLK_ID_BYTES`, uapi/linux/virtio_blk.h).
pub const SERIAL_MAX_BYTES: usize = 20;

/// One virtual machine, described.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The guest kernel: an ELF whose entry is the 64-bit one and whose PVH note names the other.
    pub kernel: PathBuf,
    /// How many virtual processors.
    pub cpus: u8,
    /// Guest memory, in MiB.
    pub memory_mib: u32,
    /// The disks, in the order in which the guest numbers them: the first is `/dev/vda`.
    pub disks: Vec<Disk>,
    /// Which of `disks` the kernel mounts as its root; it holds `/init`.
    pub root_disk: usize,
    /// More words for the kernel command line.
    pub kernel_arguments: Vec<String>,
    /// Where the kernel's console goes.
    pub console_log: PathBuf,
}

/// One disk of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// The file on the host.
    pub path: PathBuf,
    /// How its bytes are read. Never guessed: a guest could rewrite a raw disk to look like another
    /// format.
    pub format: DiskFormat,
    /// Whether the guest may write.
    pub access: DiskAccess,
    /// What the guest reads as the disk's serial, at most [`SERIAL_MAX_BYTES`].
    pub serial: String,
}

/// How a disk's file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskFormat {
    /// The file is the disk.
    Raw,
    /// The file is a VMDK descriptor that names flat extents.
    Vmdk,
}

/// Whether a guest may write a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskAccess {
    /// The guest only reads.
    ReadOnly,
    /// The guest reads and writes.
    ReadWrite,
}
