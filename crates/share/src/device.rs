use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use fuse_backend_rs::api::filesystem::FileSystem;
use fuse_backend_rs::api::server::Server;
use fuse_backend_rs::transport::{Reader, VirtioFsWriter, Writer};
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{VhostUserBackend, VringMutex, VringT};
use virtio_queue::{DescriptorChain, QueueOwnedT as _, QueueT as _};
use vm_memory::{GuestAddressSpace as _, GuestMemoryAtomic, GuestMemoryLoadGuard, GuestMemoryMmap};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{
    EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier,
};

/// `VIRTIO_F_VERSION_1` (uapi/linux/virtio_config.h).
const VERSION_1: u64 = 1 << 32;
/// `VIRTIO_RING_F_INDIRECT_DESC` and `VIRTIO_RING_F_EVENT_IDX` (uapi/linux/virtio_ring.h).
const INDIRECT: u64 = 1 << 28;
const EVENT_INDEX: u64 = 1 << 29;

/// The number of queues: one for requests that must not wait, and one for all others.
const QUEUES: usize = 2;
/// The number of requests in one queue.
const QUEUE_MAX: usize = 1024;

type Memory = GuestMemoryAtomic<GuestMemoryMmap<()>>;
type Loaded = GuestMemoryLoadGuard<GuestMemoryMmap<()>>;

/// A server that answers the guest's requests.
pub(crate) trait Answer: Send + Sync {
    /// Reads a request from its buffers and writes the answer there. Returns the length of the
    /// answer in bytes. `None` if the buffers hold no valid request.
    fn answer(&self, memory: &Loaded, request: DescriptorChain<Loaded>) -> Option<u32>;
}

impl<F: FileSystem + Send + Sync> Answer for Server<F> {
    fn answer(&self, memory: &Loaded, request: DescriptorChain<Loaded>) -> Option<u32> {
        let reader = Reader::from_descriptor_chain(&**memory, request.clone()).ok()?;
        let writer = VirtioFsWriter::new(&**memory, request).ok()?;
        let written = self.handle_message(reader, Writer::from(writer), None, None);
        u32::try_from(written.ok()?).ok()
    }
}

/// The part of the virtio-fs device that is in this process.
#[derive(Clone)]
pub(crate) struct Device(Arc<State>);

struct State {
    answer: Box<dyn Answer>,
    memory: Mutex<Option<Memory>>,
}

impl Device {
    pub(crate) fn new(answer: Box<dyn Answer>) -> Self {
        let memory = Mutex::new(None);
        Self(Arc::new(State { answer, memory }))
    }

    /// Answers all requests of a queue. An error ends the device, because an invalid queue stays
    /// invalid.
    fn attend(&self, queue: &VringMutex<Memory>) -> io::Result<()> {
        let memory = self.memory().ok_or(io::ErrorKind::NotConnected)?;
        loop {
            queue.disable_notification().map_err(io::Error::other)?;
            while let Some(request) = next(queue, &memory)? {
                let head = request.head_index();
                // A buffer without a valid request gets an empty answer.
                let length = self.0.answer.answer(&memory.memory(), request).unwrap_or(0);
                queue.add_used(head, length).map_err(io::Error::other)?;
                if queue.needs_notification().map_err(io::Error::other)? {
                    queue.signal_used_queue()?;
                }
            }
            let is_stopped = !queue.get_ref().get_queue().ready();
            if is_stopped || !queue.enable_notification().map_err(io::Error::other)? {
                return Ok(());
            }
        }
    }

    fn memory(&self) -> Option<Memory> {
        let memory = self.0.memory.lock();
        memory.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the next request. `None` if the queue is empty, or the VMM has stopped it meanwhile.
///
/// A queue whose next request cannot be read is an error: repeating the read would loop without
/// end.
fn next(
    queue: &VringMutex<Memory>,
    memory: &Memory,
) -> io::Result<Option<DescriptorChain<Loaded>>> {
    let mut state = queue.get_mut();
    let queue = state.get_queue_mut();
    if !queue.ready() {
        return Ok(None);
    }
    let memory = memory.memory();
    let available = queue.avail_idx(&*memory, Ordering::Acquire);
    let is_empty = available.map_err(io::Error::other)?.0 == queue.next_avail();
    match queue.iter(memory).map_err(io::Error::other)?.next() {
        None if !is_empty => Err(io::ErrorKind::InvalidData.into()),
        request => Ok(request),
    }
}

impl VhostUserBackend for Device {
    type Bitmap = ();
    type Vring = VringMutex<Memory>;

    fn num_queues(&self) -> usize {
        QUEUES
    }

    fn max_queue_size(&self) -> usize {
        QUEUE_MAX
    }

    fn features(&self) -> u64 {
        VERSION_1 | INDIRECT | EVENT_INDEX | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::MQ | VhostUserProtocolFeatures::REPLY_ACK
    }

    /// Nothing to do: the queues themselves handle the event index.
    fn set_event_idx(&self, _: bool) {}

    fn update_memory(&self, memory: Memory) -> io::Result<()> {
        *self.0.memory.lock().unwrap_or_else(PoisonError::into_inner) = Some(memory);
        Ok(())
    }

    fn exit_event(&self, _: usize) -> Option<(EventConsumer, EventNotifier)> {
        new_event_consumer_and_notifier(EventFlag::NONBLOCK).ok()
    }

    fn handle_event(
        &self,
        event: u16,
        set: EventSet,
        queues: &[Self::Vring],
        _: usize,
    ) -> io::Result<()> {
        if set != EventSet::IN {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let queue = queues.get(usize::from(event));
        self.attend(queue.ok_or(io::ErrorKind::InvalidInput)?)
    }
}
