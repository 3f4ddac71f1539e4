use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::{Answer, End, Question, Verdict};

/// The most questions that are open at a time.
pub const OPEN_MAX: usize = 16;
/// The time after which an open question is denied.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The time that a client has to deliver what it has allowed.
pub const DELIVERY_TIMEOUT: Duration = Duration::from_secs(120);

/// The open questions of a sandbox. Each has a token by which its asker is told the end.
#[derive(Debug)]
pub struct Queue<T> {
    open: BTreeMap<u64, Open<T>>,
}

#[derive(Debug)]
struct Open<T> {
    question: Question,
    token: T,
    deadline: Instant,
    /// The answer that counts, once there is one and what was allowed is being delivered.
    answer: Option<Answer>,
}

/// A question that is open no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed<T> {
    /// The question, with its number.
    pub question: Question,
    /// The asker's token.
    pub token: T,
    /// The way in which it ended.
    pub end: End,
}

/// The question has an answer, has ended, or never existed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("question {id} is not open")]
pub struct NotOpen {
    /// The question's number.
    pub id: u64,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            open: BTreeMap::new(),
        }
    }
}

impl<T> Queue<T> {
    /// Takes a question that has a number of its own, and returns it.
    ///
    /// # Errors
    /// The question and the token, if [`OPEN_MAX`] questions are open.
    pub fn ask(
        &mut self,
        question: Question,
        token: T,
        now: Instant,
    ) -> Result<&Question, (Box<Question>, T)> {
        if self.open.len() >= OPEN_MAX {
            return Err((Box::new(question), token));
        }
        let open = Open {
            question,
            token,
            deadline: now + ANSWER_TIMEOUT,
            answer: None,
        };
        let id = open.question.id;
        Ok(&self.open.entry(id).insert_entry(open).into_mut().question)
    }

    /// Returns the number of open questions of some askers.
    pub fn count(&self, is_meant: impl Fn(&T) -> bool) -> usize {
        let open = self.open.values();
        open.filter(|open| is_meant(&open.token)).count()
    }

    /// Returns the questions that wait for an answer, the oldest first.
    pub fn unanswered(&self) -> impl Iterator<Item = &Question> {
        let open = self.open.values().filter(|open| open.answer.is_none());
        open.map(|open| &open.question)
    }

    /// Answers a question.
    ///
    /// # Errors
    /// If it has an answer, or is not open.
    pub fn answer(&mut self, id: u64, answer: Answer) -> Result<Closed<T>, NotOpen> {
        match self.open.get(&id) {
            Some(open) if open.answer.is_none() => self.close(id, End::Answered(answer)),
            _ => Err(NotOpen { id }),
        }
    }

    /// Allows a question, and keeps its asker waiting until what it asked for is [delivered](Self::deliver). Returns
    /// the question.
    ///
    /// # Errors
    /// If the question has an answer, or is not open.
    pub fn allow_later(
        &mut self,
        id: u64,
        answer: Answer,
        now: Instant,
    ) -> Result<&Question, NotOpen> {
        let open = self.open.get_mut(&id).filter(|open| open.answer.is_none());
        let open = open.ok_or(NotOpen { id })?;
        open.answer = Some(answer);
        open.deadline = now + DELIVERY_TIMEOUT;
        Ok(&open.question)
    }

    /// Gives the client more time that delivers what it has allowed.
    ///
    /// # Errors
    /// If the question was not allowed, or is not open.
    pub fn renew(&mut self, id: u64, now: Instant) -> Result<(), NotOpen> {
        let open = self.open.get_mut(&id).filter(|open| open.answer.is_some());
        let open = open.ok_or(NotOpen { id })?;
        open.deadline = now + DELIVERY_TIMEOUT;
        Ok(())
    }

    /// Ends a question that was allowed before. `is_done` is false if what it asked for could not be
    /// delivered.
    ///
    /// # Errors
    /// If the question was not allowed, or is not open.
    pub fn deliver(&mut self, id: u64, is_done: bool) -> Result<Closed<T>, NotOpen> {
        let answer = self.open.get(&id).and_then(|open| open.answer.clone());
        let answer = answer.ok_or(NotOpen { id })?;
        let end = match answer.verdict {
            Verdict::Allow if !is_done => End::Undelivered { by: answer.by },
            _ => End::Answered(answer),
        };
        self.close(id, end)
    }

    /// Removes the questions of an asker that is gone, except those that were allowed: they end once they are
    /// delivered, or not.
    pub fn withdraw(&mut self, is_gone: impl Fn(&T) -> bool) -> Vec<Closed<T>> {
        self.close_all(|open| {
            (open.answer.is_none() && is_gone(&open.token)).then_some(End::Withdrawn)
        })
    }

    /// Denies all questions without an answer, because the last listener is gone.
    pub fn abandon(&mut self) -> Vec<Closed<T>> {
        self.close_all(|open| open.answer.is_none().then_some(End::NoListener))
    }

    /// Denies all questions without an answer, because the processes that ask cannot wait.
    pub fn pause(&mut self) -> Vec<Closed<T>> {
        self.close_all(|open| open.answer.is_none().then_some(End::Paused))
    }

    /// Ends all questions, because the guest takes no more answers.
    pub fn break_off(&mut self) -> Vec<Closed<T>> {
        self.close_all(|open| Some(open.interrupted().unwrap_or(End::Withdrawn)))
    }

    /// Denies the questions whose time is over.
    pub fn expire(&mut self, now: Instant) -> Vec<Closed<T>> {
        self.close_all(|open| {
            let is_over = open.deadline <= now;
            is_over.then(|| open.interrupted().unwrap_or(End::TimedOut))
        })
    }

    /// Returns the time at which the next question is denied; `None` if none is open.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.open.values().map(|open| open.deadline).min()
    }

    fn close_all(&mut self, end: impl Fn(&Open<T>) -> Option<End>) -> Vec<Closed<T>> {
        let ended = self.open.iter();
        let ended: Vec<(u64, End)> = ended
            .filter_map(|(id, open)| Some((*id, end(open)?)))
            .collect();
        let closed = ended.into_iter().map(|(id, end)| self.close(id, end));
        closed.filter_map(Result::ok).collect()
    }

    fn close(&mut self, id: u64, end: End) -> Result<Closed<T>, NotOpen> {
        let open = self.open.remove(&id).ok_or(NotOpen { id })?;
        Ok(Closed {
            question: open.question,
            token: open.token,
            end,
        })
    }
}

impl<T> Open<T> {
    /// Returns the end of a question that was allowed, and is not delivered; `None` if it has no answer.
    fn interrupted(&self) -> Option<End> {
        let answer = self.answer.as_ref();
        answer.map(|answer| End::Interrupted {
            by: answer.by.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
