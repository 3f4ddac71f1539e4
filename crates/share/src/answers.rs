use std::time::Instant;

use crate::device::Device;

/// The answers to the questions of a share. Clones answer for the same share.
#[derive(Clone)]
pub struct Answers(pub(crate) Device);

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}

impl Answers {
    /// Answers a question, and thereby the request that waits for it. A question that has ended is left alone.
    pub fn answer(&self, token: u64, is_allowed: bool) {
        self.0.answer_question(token, is_allowed);
    }

    /// Denies the requests that have waited for too long at `now`. Returns the time at which the next one has; `None`
    /// if none waits.
    pub fn expire(&self, now: Instant) -> Option<Instant> {
        self.0.expire(now)
    }

    /// Denies all requests that wait, because nobody will answer.
    pub fn deny_all(&self) {
        self.0.deny_all();
    }

    /// Changes permissions between two requests. The requests that wait are decided anew: each is answered if the
    /// permissions allow or refuse it now.
    pub fn change<T>(&self, change: impl FnOnce() -> T) -> T {
        self.0.change(change)
    }
}
