use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fuse_backend_rs::api::filesystem::FileSystem;
use fuse_backend_rs::api::server::Server;
use fuse_backend_rs::transport::{Reader, VirtioFsWriter, Writer};
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{VhostUserBackend, VringMutex, VringT};
use virtio_queue::{DescriptorChain, QueueOwnedT as _, QueueT as _};
use vm_memory::GuestAddressSpace as _;
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{
    EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier,
};

use crate::PathAccess;
use crate::asking::Asking;
use crate::request::{Loaded, Memory, Request};
use crate::waiting::Waiting;

/// `VIRTIO_F_VERSION_1` (uapi/linux/virtio_config.h).
const VERSION_1: u64 = 1 << 32;
/// `VIRTIO_RING_F_INDIRECT_DESC` and `VIRTIO_RING_F_EVENT_IDX` (uapi/linux/virtio_ring.h).
const INDIRECT: u64 = 1 << 28;
const EVENT_INDEX: u64 = 1 << 29;

/// The number of queues: one for requests that must not wait, and one for all others.
const QUEUES: usize = 2;
/// The number of requests in one queue.
const QUEUE_MAX: usize = 1024;

/// A server that answers the guest's requests.
pub(crate) trait Answer: Send + Sync {
    /// Reads a request from its buffers and writes the answer there. Returns the length of the
    /// answer in bytes. `None` if the buffers hold no valid request.
    fn answer(&self, buffers: &DescriptorChain<Loaded>) -> Option<u32>;
}

impl<F: FileSystem + Send + Sync> Answer for Server<F> {
    fn answer(&self, buffers: &DescriptorChain<Loaded>) -> Option<u32> {
        let memory = buffers.memory();
        let reader = Reader::from_descriptor_chain(memory, buffers.clone()).ok()?;
        let writer = VirtioFsWriter::new(memory, buffers.clone()).ok()?;
        let written = self.handle_message(reader, Writer::from(writer), None, None);
        u32::try_from(written.ok()?).ok()
    }
}

/// The part of the virtio-fs device that is in this process.
#[derive(Clone)]
pub(crate) struct Device(Arc<State>);

struct State {
    server: Box<dyn Answer>,
    asking: Arc<Asking>,
    memory: Mutex<Option<Memory>>,
    /// Locked while a request is answered: one request at a time uses the server.
    waiting: Mutex<Waiting>,
}

impl Device {
    pub(crate) fn new(server: Box<dyn Answer>, asking: Arc<Asking>) -> Self {
        Self(Arc::new(State {
            server,
            asking,
            memory: Mutex::default(),
            waiting: Mutex::default(),
        }))
    }

    /// Takes all requests of a queue. An error ends the device, because an invalid queue stays
    /// invalid.
    fn attend(&self, queue: &VringMutex<Memory>) -> io::Result<()> {
        let memory = self.memory().ok_or(io::ErrorKind::NotConnected)?;
        loop {
            queue.disable_notification().map_err(io::Error::other)?;
            while let Some(buffers) = next(queue, &memory)? {
                self.answer(&mut self.waiting(), Request::new(queue, buffers))?;
            }
            let is_stopped = !queue.get_ref().get_queue().ready();
            if is_stopped || !queue.enable_notification().map_err(io::Error::other)? {
                return Ok(());
            }
        }
    }

    /// Answers a request, or sets it aside while the user is asked about it.
    fn answer(&self, waiting: &mut Waiting, mut request: Request) -> io::Result<()> {
        loop {
            let (length, question) = self.attempt(&request);
            let Some(question) = question else {
                return request.end(length);
            };
            match self.set_aside(waiting, request, question) {
                None => return Ok(()),
                Some(denied) => request = denied,
            }
        }
    }

    /// Answers a request in its buffers. Returns the length of the answer, and the question that has to be answered
    /// first: the answer does not count then.
    fn attempt(&self, request: &Request) -> (u32, Option<PathAccess>) {
        let server = &self.0.server;
        let answer = || server.answer(&request.buffers);
        let (length, question) = self.0.asking.attempt(&request.answers, answer);
        // Buffers without a valid request get an empty answer.
        (length.unwrap_or(0), question)
    }

    /// Asks a question, and sets the request aside until it is answered. If the request cannot wait, returns it with
    /// the answer no.
    fn set_aside(
        &self,
        waiting: &mut Waiting,
        request: Request,
        question: PathAccess,
    ) -> Option<Request> {
        let token = match waiting.set_aside(request, question.clone(), Instant::now()) {
            Ok(token) => token,
            Err(mut request) => {
                request.answers.push((question, false));
                return Some(request);
            }
        };
        let asker = self.0.asking.asker();
        if asker.is_some_and(|asker| asker.ask(token, &question)) {
            return None;
        }
        waiting.take(token).map(|waiter| waiter.answered(false))
    }

    /// Answers a question that a request waits for.
    pub(crate) fn answer_question(&self, token: u64, is_allowed: bool) {
        let mut waiting = self.waiting();
        if let Some(waiter) = waiting.take(token) {
            self.go_on(&mut waiting, waiter.answered(is_allowed));
        }
    }

    /// Denies the requests that have waited for too long. Returns the time at which the next one has.
    pub(crate) fn expire(&self, now: Instant) -> Option<Instant> {
        let mut waiting = self.waiting();
        let overdue = waiting.overdue(now);
        self.deny(&mut waiting, overdue);
        waiting.next_deadline()
    }

    /// Denies all requests that wait.
    pub(crate) fn deny_all(&self) {
        let mut waiting = self.waiting();
        let all = waiting.tokens();
        self.deny(&mut waiting, all);
    }

    /// Changes permissions between two requests, and decides anew about the requests that wait.
    pub(crate) fn change<T>(&self, change: impl FnOnce() -> T) -> T {
        let mut waiting = self.waiting();
        let changed = change();
        for token in waiting.tokens() {
            let Some(waiter) = waiting.take(token) else {
                continue;
            };
            if waiter.request.is_abandoned() {
                self.withdraw(token);
                continue;
            }
            let (length, question) = self.attempt(&waiter.request);
            if question.as_ref() == Some(&waiter.question) {
                waiting.put_back(token, waiter);
                continue;
            }
            self.withdraw(token);
            if question.is_some() {
                self.go_on(&mut waiting, waiter.request);
            } else {
                // As in `go_on`.
                let _ = waiter.request.end(length);
            }
        }
        changed
    }

    fn deny(&self, waiting: &mut Waiting, tokens: Vec<u64>) {
        for token in tokens {
            self.withdraw(token);
            if let Some(waiter) = waiting.take(token) {
                self.go_on(waiting, waiter.answered(false));
            }
        }
    }

    fn withdraw(&self, token: u64) {
        if let Some(asker) = self.0.asking.asker() {
            asker.withdraw(token);
        }
    }

    /// Answers a request that has waited.
    fn go_on(&self, waiting: &mut Waiting, request: Request) {
        if !request.is_abandoned() {
            // An invalid queue ends the device with its next request.
            let _ = self.answer(waiting, request);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        let waiting = self.0.waiting.lock();
        waiting.unwrap_or_else(PoisonError::into_inner)
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
        // A VMM sends the memory before it starts the queues. A driver that begins anew does not know the
        // requests of the one before.
        self.deny_all();
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
