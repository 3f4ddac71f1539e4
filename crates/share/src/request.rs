use std::io;

use vhost_user_backend::{VringMutex, VringT as _};
use virtio_queue::{DescriptorChain, QueueT as _};
use vm_memory::{GuestMemoryAtomic, GuestMemoryLoadGuard, GuestMemoryMmap};

use crate::PathAccess;

/// The memory of a guest, which the VMM may replace.
pub(crate) type Memory = GuestMemoryAtomic<GuestMemoryMmap<()>>;
/// The memory of a guest at one moment.
pub(crate) type Loaded = GuestMemoryLoadGuard<GuestMemoryMmap<()>>;

/// A request of a guest. Its answer may come after those of later requests.
pub(crate) struct Request {
    queue: VringMutex<Memory>,
    /// The buffers of the request and of its answer. The guest can write to them at any time.
    pub(crate) buffers: DescriptorChain<Loaded>,
    /// The questions about the request that have an answer; true means yes.
    pub(crate) answers: Vec<(PathAccess, bool)>,
}

impl Request {
    pub(crate) fn new(queue: &VringMutex<Memory>, buffers: DescriptorChain<Loaded>) -> Self {
        Self {
            queue: queue.clone(),
            buffers,
            answers: Vec::new(),
        }
    }

    /// Returns true if the VMM has stopped the queue, so that nobody waits for the answer.
    pub(crate) fn is_abandoned(&self) -> bool {
        !self.queue.get_ref().get_queue().ready()
    }

    /// Gives the guest the answer in the buffers, of `length` bytes.
    ///
    /// # Errors
    /// If the queue is invalid.
    pub(crate) fn end(self, length: u32) -> io::Result<()> {
        let mut queue = self.queue.get_mut();
        if !queue.get_queue().ready() {
            return Ok(());
        }
        let head = self.buffers.head_index();
        queue.add_used(head, length).map_err(io::Error::other)?;
        if queue.needs_notification().map_err(io::Error::other)? {
            queue.signal_used_queue()?;
        }
        Ok(())
    }
}
