use std::io;

use vhost_user_backend::{VringMutex, VringT as _};
use virtio_queue::{DescriptorChain, QueueT as _};
use vm_memory::{GuestMemoryAtomic, GuestMemoryLoadGuard, GuestMemoryMmap};

/// The memory of a guest, which the VMM may replace.
pub type Memory = GuestMemoryAtomic<GuestMemoryMmap<()>>;
/// The memory of a guest at one moment.
pub type Loaded = GuestMemoryLoadGuard<GuestMemoryMmap<()>>;
/// The buffers of a request and of its answer. The guest can write to them at any time.
pub type Buffers = DescriptorChain<Loaded>;

/// A request of a guest. Its answer may come after those of later requests.
pub struct Request {
    queue: VringMutex<Memory>,
    buffers: Buffers,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").finish_non_exhaustive()
    }
}

impl Request {
    pub(crate) fn new(queue: &VringMutex<Memory>, buffers: Buffers) -> Self {
        Self {
            queue: queue.clone(),
            buffers,
        }
    }

    /// Returns the buffers.
    pub const fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// Returns true if the VMM has stopped the queue, so that nobody waits for the answer.
    pub fn is_abandoned(&self) -> bool {
        !self.queue.get_ref().get_queue().ready()
    }

    /// Gives the guest the answer in the buffers, of `length` bytes.
    ///
    /// # Errors
    /// If the queue is invalid.
    pub fn end(self, length: u32) -> io::Result<()> {
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
