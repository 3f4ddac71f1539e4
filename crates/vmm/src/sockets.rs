use std::os::fd::OwnedFd;

use crate::{InvalidMachine, Machine};

/// What joins a machine to the host: each is one end of a pair of Unix stream sockets.
#[derive(Debug)]
pub struct Sockets {
    /// The guest finds the other end as the virtio-console port
    /// [`AGENT_PORT_NAME`](crate::AGENT_PORT_NAME).
    pub agent_port: OwnedFd,
    /// The frames of [`Machine::network`], each with its length before it: 4 bytes, big-endian.
    pub network: Option<OwnedFd>,
    /// For each of [`Machine::shares`], who serves it, to be spoken to in vhost-user's words; none for a
    /// VMM that [serves them itself](crate::Vmm::serves_shares).
    pub shares: Vec<OwnedFd>,
}

impl Sockets {
    /// Checks that `machine`'s network device has its socket, and no other machine has one.
    ///
    /// # Errors
    /// When they do not belong together.
    pub fn check(&self, machine: &Machine) -> Result<(), InvalidMachine> {
        if machine.network.is_some() == self.network.is_some() {
            return Ok(());
        }
        Err(InvalidMachine::NetworkSocket)
    }

    /// Checks that each of `machine`'s shares has its socket, or none where the VMM serves them itself.
    ///
    /// # Errors
    /// When they do not belong together.
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
