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
mod tests {
    use super::*;
    use crate::Kind;

    fn question(id: u64) -> Question {
        let question = Question::new(Kind::Path, "/work/.env", "tests");
        question.expect("a question").numbered(id)
    }

    fn answer(verdict: Verdict) -> Answer {
        Answer::once(verdict, "a test")
    }

    /// Asks a question whose number is the token.
    fn ask(queue: &mut Queue<u64>, id: u64, now: Instant) {
        queue.ask(question(id), id, now).expect("there is room");
    }

    fn allow(queue: &mut Queue<u64>, id: u64, now: Instant) {
        let allowed = queue.allow_later(id, answer(Verdict::Allow), now);
        assert_eq!(allowed, Ok(&question(id)));
    }

    fn interrupted() -> End {
        let by = "a test".to_owned();
        End::Interrupted { by }
    }

    #[test]
    fn the_first_answer_counts() {
        let mut queue = Queue::default();
        ask(&mut queue, 5, Instant::now());
        let closed = queue.answer(5, answer(Verdict::Deny)).expect("open");
        assert_eq!(closed.end, End::Answered(answer(Verdict::Deny)));
        assert_eq!((closed.question, closed.token), (question(5), 5));
        let id = 5;
        assert_eq!(
            queue.answer(id, answer(Verdict::Allow)),
            Err(NotOpen { id })
        );
        assert!(queue.deliver(id, true).is_err());
        assert!(queue.renew(id, Instant::now()).is_err());
        assert_eq!(queue.next_deadline(), None);
    }

    #[test]
    fn a_question_is_denied_when_its_time_is_over_and_not_before() {
        let mut queue = Queue::default();
        let now = Instant::now();
        ask(&mut queue, 1, now);
        ask(&mut queue, 2, now + Duration::from_secs(1));
        assert_eq!(queue.next_deadline(), Some(now + ANSWER_TIMEOUT));
        let early = now + ANSWER_TIMEOUT - Duration::from_millis(1);
        assert_eq!(queue.expire(early), []);
        let ended = queue.expire(now + ANSWER_TIMEOUT);
        assert_eq!(ended.len(), 1);
        assert_eq!((ended[0].token, &ended[0].end), (1, &End::TimedOut));
        assert_eq!(queue.unanswered().count(), 1);
    }

    #[test]
    fn the_queue_is_bounded() {
        let mut queue = Queue::default();
        let now = Instant::now();
        for id in 1..17 {
            ask(&mut queue, id, now);
        }
        let (refused, token) = queue.ask(question(17), 99, now).expect_err("it is full");
        assert_eq!((refused.id, token), (17, 99));
        queue.answer(3, answer(Verdict::Deny)).expect("open");
        ask(&mut queue, 18, now);
    }

    #[test]
    fn what_is_allowed_later_is_delivered_or_denied() {
        let mut queue = Queue::default();
        let now = Instant::now();
        for (id, is_done) in [(1, true), (2, false)] {
            ask(&mut queue, id, now);
            allow(&mut queue, id, now);
            assert!(
                queue.answer(id, answer(Verdict::Deny)).is_err(),
                "it has an answer"
            );
            assert_eq!(queue.unanswered().count(), 0);
            assert_eq!(queue.abandon(), [], "its client is still there");
            let closed = queue.deliver(id, is_done).expect("allowed");
            assert_eq!(closed.end.is_allowed(), is_done);
            assert!(closed.end.was_allowed());
        }
    }

    #[test]
    fn a_delivery_lasts_as_long_as_its_client_says_so() {
        let mut queue = Queue::default();
        let now = Instant::now();
        ask(&mut queue, 1, now);
        assert!(queue.renew(1, now).is_err(), "it is not allowed");
        allow(&mut queue, 1, now);
        assert_eq!(queue.expire(now + ANSWER_TIMEOUT), []);
        let later = now + DELIVERY_TIMEOUT - Duration::from_millis(1);
        queue.renew(1, later).expect("it is being delivered");
        assert_eq!(queue.expire(now + DELIVERY_TIMEOUT), []);
        let ended = queue.expire(later + DELIVERY_TIMEOUT);
        assert_eq!(ended[0].end, interrupted());
        assert!(queue.renew(1, later).is_err(), "it has ended");
    }

    #[test]
    fn askers_and_listeners_that_are_gone_end_their_questions() {
        let mut queue = Queue::default();
        let now = Instant::now();
        ask(&mut queue, 1, now);
        ask(&mut queue, 2, now);
        let ended = queue.withdraw(|token| *token == 1);
        assert_eq!((ended.len(), &ended[0].end), (1, &End::Withdrawn));
        let ended = queue.abandon();
        assert_eq!((ended[0].token, &ended[0].end), (2, &End::NoListener));
    }

    #[test]
    fn a_pause_denies_what_has_no_answer_yet() {
        let mut queue = Queue::default();
        let now = Instant::now();
        ask(&mut queue, 1, now);
        ask(&mut queue, 2, now);
        allow(&mut queue, 1, now);
        let ended = queue.pause();
        assert_eq!(ended.len(), 1);
        assert_eq!((ended[0].token, &ended[0].end), (2, &End::Paused));
        assert!(queue.deliver(1, true).expect("allowed").end.is_allowed());
    }

    #[test]
    fn an_asker_that_is_gone_does_not_hide_that_it_was_allowed() {
        let mut queue = Queue::default();
        let now = Instant::now();
        for id in [1, 2] {
            ask(&mut queue, id, now);
            allow(&mut queue, id, now);
        }
        ask(&mut queue, 3, now);
        assert_eq!(queue.withdraw(|token| *token == 1), []);
        let closed = queue.deliver(1, true).expect("allowed");
        assert!(closed.end.is_allowed());
        let ended = queue.break_off();
        let ends: Vec<&End> = ended.iter().map(|ended| &ended.end).collect();
        assert_eq!(ends, [&interrupted(), &End::Withdrawn]);
        assert_eq!(queue.next_deadline(), None);
    }
}
