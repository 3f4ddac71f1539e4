use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{VhostUserBackend, VringMutex, VringState, VringT as _};
use virtio_queue::{QueueOwnedT as _, QueueT as _};
use vm_memory::GuestAddressSpace as _;
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{
    EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier,
};

use crate::thread_end::at_thread_end;
use crate::{Answer, Buffers, Description, Memory, Request};

/// `VIRTIO_F_VERSION_1` (uapi/linux/virtio_config.h).
const VERSION_1: u64 = 1 << 32;
/// `VIRTIO_RING_F_INDIRECT_DESC` and `VIRTIO_RING_F_EVENT_IDX` (uapi/linux/virtio_ring.h).
const INDIRECT: u64 = 1 << 28;
const EVENT_INDEX: u64 = 1 << 29;

/// The number of requests in one queue. QEMU offers a guest as many over virtio-mmio, whatever the device has, and a
/// device that refuses them leaves the guest waiting indefinitely.
const QUEUE_MAX: usize = 1024;

/// The part of a virtio device that is in this process. Clones are the same device.
pub struct Device<A>(Arc<State<A>>);

struct State<A> {
    answer: A,
    description: Description,
    memory: Mutex<Option<Memory>>,
    has_given_up: AtomicBool,
}

impl<A: Answer> State<A> {
    /// Tells the first reason for which the device takes no further requests.
    fn give_up(&self, reason: &io::Error) {
        if !self.has_given_up.swap(true, Ordering::Relaxed) {
            self.answer.give_up(reason);
        }
    }
}

impl<A> Clone for Device<A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<A> std::fmt::Debug for Device<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let description = &self.0.description;
        f.debug_struct("Device")
            .field("description", description)
            .finish_non_exhaustive()
    }
}

impl<A: Answer> Device<A> {
    /// Returns a device of this description, whose requests `answer` answers.
    pub fn new(answer: A, description: Description) -> Self {
        Self(Arc::new(State {
            answer,
            description,
            memory: Mutex::default(),
            has_given_up: AtomicBool::new(false),
        }))
    }

    /// Takes all requests of a queue. An error ends the device, because an invalid queue stays
    /// invalid.
    fn attend(&self, queue: &VringMutex<Memory>) -> io::Result<()> {
        let memory = self.memory().ok_or(io::ErrorKind::NotConnected)?;
        loop {
            unless_stopped(queue, VringState::disable_notification)?;
            while let Some(buffers) = next(queue, &memory)? {
                self.0.answer.answer(Request::new(queue, buffers))?;
            }
            if unless_stopped(queue, VringState::enable_notification)? != Some(true) {
                return Ok(());
            }
        }
    }

    /// Takes all requests of the queue that an event is of.
    fn attend_event(
        &self,
        event: u16,
        set: EventSet,
        queues: &[VringMutex<Memory>],
    ) -> io::Result<()> {
        if set != EventSet::IN {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let queue = queues.get(usize::from(event));
        self.attend(queue.ok_or(io::ErrorKind::InvalidInput)?)
    }

    fn memory(&self) -> Option<Memory> {
        let memory = self.0.memory.lock();
        memory.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Changes the state of a queue. `None` if the VMM has stopped it: its memory may have another use then.
fn unless_stopped<T>(
    queue: &VringMutex<Memory>,
    change: impl FnOnce(&mut VringState<Memory>) -> Result<T, virtio_queue::Error>,
) -> io::Result<Option<T>> {
    let mut state = queue.get_mut();
    if !state.get_queue().ready() {
        return Ok(None);
    }
    change(&mut state).map(Some).map_err(io::Error::other)
}

/// Returns the buffers of the next request. `None` if the queue is empty, or the VMM has stopped it
/// meanwhile.
///
/// A queue whose next request cannot be read is an error: repeating the read would loop without
/// end.
fn next(queue: &VringMutex<Memory>, memory: &Memory) -> io::Result<Option<Buffers>> {
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

impl<A: Answer> VhostUserBackend for Device<A> {
    type Bitmap = ();
    type Vring = VringMutex<Memory>;

    fn num_queues(&self) -> usize {
        self.0.description.queues
    }

    fn max_queue_size(&self) -> usize {
        QUEUE_MAX
    }

    fn features(&self) -> u64 {
        let queue = VERSION_1 | INDIRECT | EVENT_INDEX;
        queue | self.0.description.features | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        let features = VhostUserProtocolFeatures::MQ | VhostUserProtocolFeatures::REPLY_ACK;
        if self.0.description.config.is_empty() {
            features
        } else {
            features | VhostUserProtocolFeatures::CONFIG
        }
    }

    /// Nothing to do: the queues themselves handle the event index.
    fn set_event_idx(&self, _: bool) {}

    fn get_config(&self, offset_bytes: u32, length_bytes: u32) -> Vec<u8> {
        let description = &self.0.description;
        description.config_part(offset_bytes, length_bytes)
    }

    fn update_memory(&self, memory: Memory) -> io::Result<()> {
        *self.0.memory.lock().unwrap_or_else(PoisonError::into_inner) = Some(memory);
        // A VMM sends the memory before it starts the queues.
        self.0.answer.begin_anew();
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
        let state = Arc::downgrade(&self.0);
        // The thread also ends where the library cannot read a notification.
        at_thread_end(move || {
            if let Some(state) = state.upgrade() {
                state.give_up(&io::Error::other(
                    "the thread of the device's queues has ended",
                ));
            }
        });
        let attended = self.attend_event(event, set, queues);
        if let Err(reason) = &attended {
            self.0.give_up(reason);
        }
        attended
    }
}
