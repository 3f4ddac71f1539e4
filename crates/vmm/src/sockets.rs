use std::fmt;
use std::os::fd::OwnedFd;

use crate::{InvalidMachine, Machine};

/// A disk of the format [`Served`](crate::DiskFormat::Served), which the VMM does not open.
pub enum ServedDisk {
    /// A vhost-user connection to the server of the disk, which maps the guest's memory.
    Connection(OwnedFd),
    /// The open disk, for a VMM that [calls it](crate::Vmm::calls_served_disks). One thread at a time
    /// does.
    Open(Box<dyn served_disk::Disk + Send>),
}

impl ServedDisk {
    /// Returns the connection; `None` for an open disk.
    pub fn connection(&self) -> Option<&OwnedFd> {
        match self {
            Self::Connection(socket) => Some(socket),
            Self::Open(_) => None,
        }
    }
}

impl fmt::Debug for ServedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(socket) => f.debug_tuple("Connection").field(socket).finish(),
            Self::Open(disk) => f.debug_tuple("Open").field(&disk.size_bytes()).finish(),
        }
    }
}

/// The connections of a machine to the host. Each is one end of a pair of Unix stream sockets, or a
/// disk that is open in this process.
#[derive(Debug)]
pub struct Sockets {
    /// The host's end of the virtio-console port [`AGENT_PORT_NAME`](crate::AGENT_PORT_NAME).
    pub agent_port: OwnedFd,
    /// The frames of [`Machine::network`], each behind its length: 4 bytes, big-endian.
    pub network: Option<OwnedFd>,
    /// A vhost-user connection for each of [`Machine::shares`], to the process that serves it.
    /// Empty for a VMM that [serves them itself](crate::Backend::serves_shares).
    pub shares: Vec<OwnedFd>,
    /// Each disk of the format [`Served`](crate::DiskFormat::Served), in the order of the disks.
    pub disks: Vec<ServedDisk>,
}

impl Sockets {
    /// Checks that there is a network socket if and only if `machine` has a network device.
    ///
    /// # Errors
    /// If there is one without the other.
    pub fn check(&self, machine: &Machine) -> Result<(), InvalidMachine> {
        if machine.network.is_some() == self.network.is_some() {
            return Ok(());
        }
        Err(InvalidMachine::NetworkSocket)
    }

    /// Checks that each served disk is there, open if `calls` is true and as a connection otherwise.
    ///
    /// # Errors
    /// If the numbers differ.
    pub fn check_disks(&self, machine: &Machine, calls: bool) -> Result<(), InvalidMachine> {
        let disks = machine.served_disks();
        let usable = |disk: &&ServedDisk| disk.connection().is_none() == calls;
        let served = self.disks.iter().filter(usable).count();
        if self.disks.len() == disks && served == disks {
            return Ok(());
        }
        Err(InvalidMachine::ServedDisks { disks, served })
    }

    /// Checks that each share has its socket, or that no socket exists if `serves` is true.
    ///
    /// # Errors
    /// If the numbers differ.
    pub fn check_shares(&self, machine: &Machine, serves: bool) -> Result<(), InvalidMachine> {
        let wanted = if serves { 0 } else { machine.shares.len() };
        if self.shares.len() == wanted {
            return Ok(());
        }
        Err(InvalidMachine::ShareSockets {
            shares: machine.shares.len(),
            sockets: self.shares.len(),
        })
    }
}
