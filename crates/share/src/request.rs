use std::io;

use vhost_device::Buffers;

use crate::PathAccess;

/// A request of a guest, with what its user has said about it.
pub(crate) struct Request {
    carrier: vhost_device::Request,
    /// The questions about the request that have an answer; true means yes.
    pub(crate) answers: Vec<(PathAccess, bool)>,
}

impl Request {
    pub(crate) const fn new(carrier: vhost_device::Request) -> Self {
        Self {
            carrier,
            answers: Vec::new(),
        }
    }

    /// Returns the buffers of the request and of its answer.
    pub(crate) const fn buffers(&self) -> &Buffers {
        self.carrier.buffers()
    }

    /// Returns true if the VMM has stopped the queue, so that nobody waits for the answer.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.carrier.is_abandoned()
    }

    /// Gives the guest the answer in the buffers, of `length` bytes.
    ///
    /// # Errors
    /// If the queue is invalid.
    pub(crate) fn end(self, length: u32) -> io::Result<()> {
        self.carrier.end(length)
    }
}
