use std::path::PathBuf;

use path_rules::Rule;
use serde::{Deserialize, Serialize};

use crate::InvalidMachine;

/// The name of the virtio-console port of the guest agent.
pub const AGENT_PORT_NAME: &str = "msb.agent";

/// The longest disk serial, in bytes (`VIRTIO_BLK_ID_BYTES`, uapi/linux/virtio_blk.h).
pub const SERIAL_MAX_BYTES: usize = 20;

/// The longest tag of a share, in bytes (`struct virtio_fs_config`, uapi/linux/virtio_fs.h).
pub const SHARE_TAG_MAX_BYTES: usize = 36;

/// The smallest memory that the guest kernel boots in, in MiB.
pub const MEMORY_MIN_MIB: u32 = 64;

/// The description of one virtual machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The guest kernel: an ELF file with a 64-bit entry point, and a PVH note that names the
    /// 32-bit one; on arm64 an `Image`.
    pub kernel: PathBuf,
    /// The number of virtual processors.
    pub cpus: u8,
    /// Guest memory, in MiB.
    pub memory_mib: u32,
    /// The disks, in the order in which the guest numbers them: the first is `/dev/vda`.
    pub disks: Vec<Disk>,
    /// The index in `disks` of the kernel's root filesystem, which holds `/init`.
    pub root_disk: usize,
    /// Additional arguments of the kernel command line.
    pub kernel_arguments: Vec<String>,
    /// The file that the kernel's console is written to.
    pub console_log: PathBuf,
    /// The shares of the host that the guest sees over virtio-fs, each a device.
    #[serde(default)]
    pub shares: Vec<Share>,
    /// The network device. `None` for a machine without a network.
    #[serde(default)]
    pub network: Option<NetworkDevice>,
}

/// A network device, whose frames travel over [`Sockets::network`](crate::Sockets::network).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkDevice {
    /// The hardware address that the guest gets.
    pub mac: [u8; 6],
}

/// A device that the guest mounts by its tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The share's tag in the guest, at most [`SHARE_TAG_MAX_BYTES`].
    pub tag: String,
    /// The guest's access to the share.
    pub access: DiskAccess,
    /// The content of the share.
    pub shown: Shown,
}

/// The content of a share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// This directory, as the root of the device.
    Directory(PathBuf),
    /// Each of these, as an entry of the root of the device: for a VMM that leaves shares to a process of
    /// their own.
    Entries(Vec<ShareEntry>),
}

/// One thing of several that a share shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareEntry {
    /// Its name in the root of the device.
    pub name: String,
    /// The path on the host.
    pub path: PathBuf,
    /// The kind of the entry.
    pub kind: ShareKind,
    /// The path in the guest that the entry is mounted at.
    #[serde(default)]
    pub target: String,
    /// The rules of the files of a directory; their paths are relative to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
}

/// The kinds of entries of a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShareKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A file that the guest uses as a disk: its length stays.
    Disk,
}

impl Machine {
    /// Checks the requirements of every VMM. `limit` is the number of disks and shares together
    /// that the calling VMM supports.
    ///
    /// # Errors
    /// The first property that no VMM, or not this one, supports.
    pub fn check(&self, limit: usize) -> Result<(), InvalidMachine> {
        if self.cpus == 0 {
            return Err(InvalidMachine::NoCpus);
        }
        if self.memory_mib < MEMORY_MIN_MIB {
            return Err(InvalidMachine::TooLittleMemory {
                memory_mib: self.memory_mib,
            });
        }
        let disks = self.disks.len();
        let shares = self.shares.len();
        if disks.saturating_add(shares) > limit {
            return Err(InvalidMachine::TooManyDevices {
                disks,
                shares,
                limit,
            });
        }
        if self.root_disk >= disks {
            return Err(InvalidMachine::NoRootDisk {
                index: self.root_disk,
                disks,
            });
        }
        self.check_shares()?;
        self.check_disks()
    }

    /// Returns the number of disks that a server has.
    pub fn served_disks(&self) -> usize {
        let disks = self.disks.iter();
        disks
            .filter(|disk| disk.format == DiskFormat::Served)
            .count()
    }

    /// Returns true if a process or thread beside the VMM uses the guest's memory: the server of a share or a disk.
    pub fn has_mapped_memory(&self) -> bool {
        !self.shares.is_empty() || self.served_disks() > 0
    }

    fn check_shares(&self) -> Result<(), InvalidMachine> {
        for (index, share) in self.shares.iter().enumerate() {
            let mut others = self.shares[..index].iter();
            let is_repeated = others.any(|other| other.tag == share.tag);
            if is_repeated || !is_plain(&share.tag, SHARE_TAG_MAX_BYTES) {
                return Err(InvalidMachine::Tag {
                    tag: share.tag.clone(),
                });
            }
        }
        Ok(())
    }

    fn check_disks(&self) -> Result<(), InvalidMachine> {
        for (index, disk) in self.disks.iter().enumerate() {
            let is_repeated = self.disks[..index]
                .iter()
                .any(|other| other.serial == disk.serial);
            if is_repeated || !is_plain(&disk.serial, SERIAL_MAX_BYTES) {
                return Err(InvalidMachine::Serial {
                    serial: disk.serial.clone(),
                });
            }
        }
        Ok(())
    }
}

/// Returns true if every VMM passes the name on unchanged: it has no separator of any option
/// syntax, and is short enough.
fn is_plain(name: &str, limit_bytes: usize) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=limit_bytes).contains(&name.len()) && name.bytes().all(is_plain)
}

/// One disk of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// The file on the host.
    pub path: PathBuf,
    /// The format of the file. It is never guessed: a guest could rewrite a raw disk to look like
    /// another format.
    pub format: DiskFormat,
    /// The guest's access.
    pub access: DiskAccess,
    /// The serial that the guest reads, at most [`SERIAL_MAX_BYTES`] long.
    pub serial: String,
}

/// The format of a disk's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskFormat {
    /// The file is the disk.
    Raw,
    /// The VMM opens nothing: the VMM process has the disk open, and [`Sockets::disks`](crate::Sockets::disks)
    /// leads to it. The path is that of the disk's files.
    Served,
}

/// A guest's access to a disk or a shared directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskAccess {
    /// The guest only reads.
    ReadOnly,
    /// The guest reads and writes.
    ReadWrite,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn disk(serial: &str) -> Disk {
        Disk {
            path: PathBuf::from("/disks").join(serial),
            format: DiskFormat::Raw,
            access: DiskAccess::ReadWrite,
            serial: serial.to_owned(),
        }
    }

    pub(crate) fn machine() -> Machine {
        Machine {
            kernel: PathBuf::from("/kernel"),
            cpus: 1,
            memory_mib: 512,
            disks: vec![disk("image"), disk("upper"), disk("boot")],
            root_disk: 2,
            kernel_arguments: Vec::new(),
            console_log: PathBuf::from("/console.log"),
            shares: Vec::new(),
            network: None,
        }
    }

    #[test]
    fn a_plain_machine_passes() {
        assert_eq!(machine().check(3), Ok(()));
    }

    #[test]
    fn each_rule_names_what_breaks_it() {
        let broken = |change: fn(&mut Machine)| {
            let mut machine = machine();
            change(&mut machine);
            machine.check(3).unwrap_err()
        };
        assert_eq!(broken(|machine| machine.cpus = 0), InvalidMachine::NoCpus);
        assert_eq!(
            broken(|machine| machine.memory_mib = 63),
            InvalidMachine::TooLittleMemory { memory_mib: 63 }
        );
        assert_eq!(
            broken(|machine| machine.disks.push(disk("more"))),
            InvalidMachine::TooManyDevices {
                disks: 4,
                shares: 0,
                limit: 3
            }
        );
        let share = Share {
            tag: "a,b".to_owned(),
            access: DiskAccess::ReadOnly,
            shown: Shown::Directory("/shared".into()),
        };
        let mut sharing = machine();
        sharing.shares.push(share);
        assert_eq!(
            sharing.check(4),
            Err(InvalidMachine::Tag {
                tag: "a,b".to_owned()
            })
        );
        assert!(matches!(
            sharing.check(3),
            Err(InvalidMachine::TooManyDevices { shares: 1, .. })
        ));
        assert_eq!(
            broken(|machine| machine.root_disk = 3),
            InvalidMachine::NoRootDisk { index: 3, disks: 3 }
        );
    }

    #[test]
    fn serials_are_short_plain_and_different() {
        for serial in ["", "upper", "a,b", "a b", "123456789012345678901"] {
            let mut machine = machine();
            machine.disks[0].serial = serial.to_owned();
            let expected = InvalidMachine::Serial {
                serial: "upper".to_owned(),
            };
            let error = machine.check(3).unwrap_err();
            assert!(
                error == expected
                    || error
                        == InvalidMachine::Serial {
                            serial: serial.into()
                        }
            );
        }
    }
}
