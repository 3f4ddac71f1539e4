use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fuse_backend_rs::api::filesystem::FileSystem;
use fuse_backend_rs::api::server::Server;
use fuse_backend_rs::transport::{Reader, VirtioFsWriter, Writer};
use vhost_device::{Answer, Buffers, Description};

use crate::PathAccess;
use crate::asking::Asking;
use crate::request::Request;
use crate::waiting::Waiting;

/// The number of queues: one for requests that must not wait, and one for all others.
const QUEUES: usize = 2;

/// A server of files that answers the guest's requests.
pub(crate) trait FileServer: Send + Sync {
    /// Reads a request from its buffers and writes the answer there. Returns the length of the
    /// answer in bytes. `None` if the buffers hold no valid request.
    fn answer(&self, buffers: &Buffers) -> Option<u32>;
}

impl<F: FileSystem + Send + Sync> FileServer for Server<F> {
    fn answer(&self, buffers: &Buffers) -> Option<u32> {
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
    server: Box<dyn FileServer>,
    asking: Arc<Asking>,
    /// Locked while a request is answered: one request at a time uses the server.
    waiting: Mutex<Waiting>,
}

impl Device {
    pub(crate) fn new(server: Box<dyn FileServer>, asking: Arc<Asking>) -> Self {
        Self(Arc::new(State {
            server,
            asking,
            waiting: Mutex::default(),
        }))
    }

    /// Returns the device with its queues.
    pub(crate) fn with_queues(self) -> vhost_device::Device<Self> {
        let description = Description {
            queues: QUEUES,
            ..Description::default()
        };
        vhost_device::Device::new(self, description)
    }

    /// Answers a request, or sets it aside while the user is asked about it.
    fn attend(&self, waiting: &mut Waiting, mut request: Request) -> io::Result<()> {
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
        let answer = || server.answer(request.buffers());
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
            let _ = self.attend(waiting, request);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        let waiting = self.0.waiting.lock();
        waiting.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answer for Device {
    fn answer(&self, request: vhost_device::Request) -> io::Result<()> {
        self.attend(&mut self.waiting(), Request::new(request))
    }

    fn begin_anew(&self) {
        self.deny_all();
    }
}
