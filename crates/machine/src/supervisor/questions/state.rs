use std::collections::VecDeque;
use std::error::Error as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use msb_agent_protocol::v1::{Asked, Told};
use questions::{Closed, End, Event, Kind, Question, Queue};
use tokio::sync::Notify;

use super::journal::LimitedJournal;
use super::listeners::Listeners;
use super::numbers::Numbers;
use crate::log::log_line;

/// The answers that wait for the agent. With more of them no question is taken from it. It does not wait for the
/// answers to questions that are open, so these are added in any case.
pub(super) const ANSWERS_MAX: usize = 64;

/// The state of a sandbox's questions.
#[derive(Debug)]
pub(super) struct State {
    /// The open questions, each with the agent's number of it.
    pub(super) queue: Queue<u64>,
    pub(super) numbers: Numbers,
    pub(super) listeners: Listeners,
    /// The answers that the agent has not taken yet; `None` while it takes none.
    pub(super) answers: Option<VecDeque<Told>>,
    pub(super) journal: LimitedJournal,
    /// Notified when there is an answer, or the time of the next denial may have changed.
    pub(super) changed: Arc<Notify>,
    /// True if the last question got no number. The log has one line for all that follow.
    pub(super) is_unnumbered: bool,
}

/// The work that waits for the agent's connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outlook {
    /// The time of the next denial; `None` if no question is open.
    pub(super) deadline: Option<Instant>,
    /// True if an answer waits for the agent.
    pub(super) has_answers: bool,
    /// True if there is room for the answer to another question.
    pub(super) has_room: bool,
}

/// Locks the state, also after a panic of the task that had it.
pub(super) fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns this moment by the clock of the runtime's timers, which a test can move.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

impl State {
    /// Returns the work that waits for the agent's connection.
    pub(super) fn outlook(&self) -> Outlook {
        let count = self.answers.as_ref().map_or(0, VecDeque::len);
        Outlook {
            deadline: self.queue.next_deadline(),
            has_answers: count > 0,
            has_room: count < ANSWERS_MAX,
        }
    }

    /// Takes the answer that the agent gets next.
    pub(super) fn next_answer(&mut self) -> Option<Told> {
        self.answers.as_mut().and_then(VecDeque::pop_front)
    }

    /// Takes a question of the guest, or refuses it.
    pub(super) fn ask(&mut self, asked: &Asked) {
        let token = asked.token;
        let question = Question::new(Kind::Path, &asked.path, &asked.reason);
        let question = match question {
            Ok(question) => question.of_process(Some(&asked.process), asked.uid),
            Err(error) => return self.tell(token, false, &format!("denied: {error}")),
        };
        let Some(number) = self.number() else {
            let text = "denied: the host could not give the question a number";
            return self.tell(token, false, text);
        };
        let question = question.numbered(number);
        if self.listeners.is_empty() {
            return self.refuse(question, token, End::NoListener);
        }
        match self.queue.ask(question, token, now()) {
            Ok(question) => {
                self.listeners.ask(question);
                self.journal.add(&Event::Asked(question.clone()));
            }
            Err((question, token)) => self.refuse(*question, token, End::TooMany),
        }
    }

    fn number(&mut self) -> Option<u64> {
        let number = self.numbers.take();
        if let Err(error) = &number
            && !self.is_unnumbered
        {
            let cause = error.source().map(|cause| format!(": {cause}"));
            let cause = cause.unwrap_or_default();
            log_line(&format!("questions are denied: {error}{cause}"));
        }
        self.is_unnumbered = number.is_err();
        number.ok()
    }

    /// Ends a question that no client was shown.
    fn refuse(&mut self, question: Question, token: u64, end: End) {
        self.end_all([Closed {
            question,
            token,
            end,
        }]);
    }

    pub(super) fn withdraw(&mut self, token: u64) {
        let ended = self.queue.withdraw(|asker| *asker == token);
        self.end_all(ended);
    }

    pub(super) fn expire(&mut self, now: Instant) {
        let ended = self.queue.expire(now);
        self.end_all(ended);
    }

    /// Takes no more answers and questions, because the agent is gone.
    pub(super) fn break_off(&mut self) {
        self.answers = None;
        let ended = self.queue.break_off();
        self.end_all(ended);
    }

    /// Removes a client. Without a listener all questions are denied.
    pub(super) fn leave(&mut self, listener: u64) {
        self.listeners.remove(listener);
        if self.listeners.is_empty() {
            let ended = self.queue.abandon();
            self.end_all(ended);
        }
    }

    /// Tells everybody of the ends of questions.
    pub(super) fn end_all(&mut self, closed: impl IntoIterator<Item = Closed<u64>>) {
        for closed in closed {
            let Closed {
                question,
                token,
                end,
            } = closed;
            self.tell(token, end.is_allowed(), end.for_guest());
            self.listeners.end(question.id, &end);
            // It was recorded when the client allowed it.
            if !end.is_allowed() {
                self.journal.add(&Event::Ended { question, end });
            }
        }
    }

    /// Tells the guest the answer to a question.
    fn tell(&mut self, token: u64, is_allowed: bool, text: &str) {
        if let Some(answers) = &mut self.answers {
            answers.push_back(Told {
                token,
                is_allowed,
                text: text.to_owned(),
            });
            self.changed.notify_one();
        }
    }
}
