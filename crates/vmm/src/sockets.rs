use std::os::fd::OwnedFd;

use crate::{InvalidMachine, Machine};

/// The connections of a machine to the host. Each is one end of a pair of Unix stream sockets.
#[derive(Debug)]
pub struct Sockets {
    /// The host's end of the virtio-console port [`AGENT_PORT_NAME`](crate::AGENT_PORT_NAME).
    pub agent_port: OwnedFd,
    /// The frames of [`Machine::network`], each behind its length: 4 bytes, big-endian.
    pub network: Option<OwnedFd>,
    /// A vhost-user connection for each of [`Machine::shares`], to the process that serves it.
    /// Empty for a VMM that [serves them itself](crate::Backend::serves_shares).
    pub shares: Vec<OwnedFd>,
    /// A connection to the NBD server of each disk of the format [`Nbd`](crate::DiskFormat::Nbd), in the
    /// order of the disks.
    pub disks: Vec<OwnedFd>,
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

    /// Checks that each served disk has its socket.
    ///
    /// # Errors
    /// If the numbers differ.
    pub fn check_disks(&self, machine: &Machine) -> Result<(), InvalidMachine> {
        let disks = machine.served_disks();
        if self.disks.len() == disks {
            return Ok(());
        }
        Err(InvalidMachine::DiskSockets {
            disks,
            sockets: self.disks.len(),
        })
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
