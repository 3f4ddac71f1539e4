use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::PathAccess;
use crate::request::Request;

/// The most requests of a device that wait for answers.
pub(crate) const WAITING_MAX: usize = 64;
/// The time after which a request is denied that has no answer yet. The user has 30 s of it; the rest is for a rule
/// that is kept with the answer.
pub(crate) const WAIT_TIMEOUT: Duration = Duration::from_secs(40);

/// The requests of a device that wait for answers, by the tokens of their questions.
#[derive(Default)]
pub(crate) struct Waiting {
    requests: BTreeMap<u64, Waiter>,
    last_token: u64,
}

/// A request that waits for the answer to a question.
pub(crate) struct Waiter {
    pub(crate) request: Request,
    pub(crate) question: PathAccess,
    deadline: Instant,
}

impl Waiting {
    /// Sets a request aside until its question has an answer. Returns the token of the question.
    ///
    /// # Errors
    /// The request, if [`WAITING_MAX`] wait.
    pub(crate) fn set_aside(
        &mut self,
        request: Request,
        question: PathAccess,
        now: Instant,
    ) -> Result<u64, Request> {
        if self.requests.len() >= WAITING_MAX {
            return Err(request);
        }
        self.last_token += 1;
        let waiter = Waiter {
            request,
            question,
            deadline: now + WAIT_TIMEOUT,
        };
        self.requests.insert(self.last_token, waiter);
        Ok(self.last_token)
    }

    /// Takes the request that waits for the answer to this question; `None` if none does.
    pub(crate) fn take(&mut self, token: u64) -> Option<Waiter> {
        self.requests.remove(&token)
    }

    /// Puts a request back that was taken: it waits for the same answer as before.
    pub(crate) fn put_back(&mut self, token: u64, waiter: Waiter) {
        self.requests.insert(token, waiter);
    }

    /// Returns the tokens of all questions, the oldest first.
    pub(crate) fn tokens(&self) -> Vec<u64> {
        self.requests.keys().copied().collect()
    }

    /// Returns the tokens of the questions that have waited for too long at `now`.
    pub(crate) fn overdue(&self, now: Instant) -> Vec<u64> {
        let requests = self.requests.iter();
        let overdue = requests.filter(|(_, waiter)| waiter.deadline <= now);
        overdue.map(|(token, _)| *token).collect()
    }

    /// Returns the time at which the next request is denied; `None` if none waits.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.requests.values().map(|waiter| waiter.deadline).min()
    }
}

impl Waiter {
    /// Returns the request with the answer to its question.
    pub(crate) fn answered(self, is_allowed: bool) -> Request {
        let mut request = self.request;
        request.answers.push((self.question, is_allowed));
        request
    }
}
