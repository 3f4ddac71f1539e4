use std::collections::VecDeque;
use std::error::Error as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use msb_agent_protocol::v1::{Asked, Told};
use msb_network::ToNetwork;
use questions::{Closed, End, Event, InvalidQuestion, Kind, Question, Queue, Verdict};
use tokio::sync::{Notify, mpsc};

use super::journal::LimitedJournal;
use super::listeners::Listeners;
use super::numbers::Numbers;
use crate::log::log_line;
use crate::share_messages::ToShare;

/// The answers that wait for the agent. With more of them no question is taken from it. It does not wait for the
/// answers to questions that are open, so these are added in any case.
pub(super) const ANSWERS_MAX: usize = 64;
/// The open questions about files of shares and destinations of the network together. The others are left to processes
/// that ask by themselves.
pub(super) const OF_ACCESSES_MAX: usize = 12;

/// The state of a sandbox's questions.
#[derive(Debug)]
pub(super) struct State {
    /// The open questions, each with the one who waits for its answer.
    pub(super) queue: Queue<Asker>,
    pub(super) numbers: Numbers,
    pub(super) listeners: Listeners,
    /// The answers that the agent has not taken yet; `None` while it takes none.
    pub(super) answers: Option<VecDeque<Told>>,
    /// The processes of shares, which take answers in order.
    pub(super) shares: Vec<mpsc::Sender<ToShare>>,
    /// The network's process; `None` if there is none.
    pub(super) network: Option<mpsc::Sender<ToNetwork>>,
    /// True while no process can wait for an answer: questions are denied at once.
    pub(super) is_closed: bool,
    pub(super) journal: LimitedJournal,
    /// Notified when there is an answer, or the time of the next denial may have changed.
    pub(super) changed: Arc<Notify>,
    /// True if the last question got no number. The log has one line for all that follow.
    pub(super) is_unnumbered: bool,
}

/// The one who waits for the answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    /// A process, by the agent's number of its question.
    Agent(u64),
    /// A request of the guest for a file of a share.
    Share {
        /// The number of the share among those with rules.
        share: usize,
        /// The share's number of the question.
        token: u64,
    },
    /// A connection of the guest, or a query.
    Network {
        /// The network's number of the question.
        token: u64,
    },
}

impl Asker {
    /// Returns true for an access that waits, and no process has asked.
    const fn is_access(&self) -> bool {
        matches!(self, Self::Share { .. } | Self::Network { .. })
    }
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

    /// Takes a question of a process of the guest, or refuses it.
    pub(super) fn ask(&mut self, asked: &Asked) {
        let question = Question::new(Kind::Path, &asked.path, &asked.reason);
        let question = question.map(|new| new.of_process(Some(&asked.process), asked.uid));
        self.take(question, Asker::Agent(asked.token));
    }

    /// Takes a question, or refuses it.
    pub(super) fn take(&mut self, question: Result<Question, InvalidQuestion>, asker: Asker) {
        let question = match question {
            Ok(question) => question,
            Err(error) => return self.tell(asker, None, &format!("denied: {error}")),
        };
        let Some(number) = self.number() else {
            let text = "denied: the host could not give the question a number";
            return self.tell(asker, None, text);
        };
        let question = question.numbered(number);
        if self.is_closed {
            return self.refuse(question, asker, End::Paused);
        }
        if self.listeners.is_empty() {
            return self.refuse(question, asker, End::NoListener);
        }
        if asker.is_access() && self.queue.count(Asker::is_access) >= OF_ACCESSES_MAX {
            return self.refuse(question, asker, End::TooMany);
        }
        match self.queue.ask(question, asker, now()) {
            Ok(question) => {
                self.listeners.ask(question);
                self.journal.add(&Event::Asked(question.clone()));
            }
            Err((question, asker)) => self.refuse(*question, asker, End::TooMany),
        }
    }

    /// Records that a rule has refused an access.
    pub(super) fn refuse_by_rule(&mut self, question: Question, rule: &str) {
        if let Some(number) = self.number() {
            let question = question.numbered(number);
            let end = End::refused(rule);
            self.journal.add(&Event::Ended { question, end });
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
    fn refuse(&mut self, question: Question, asker: Asker, end: End) {
        self.end_all([Closed {
            question,
            token: asker,
            end,
        }]);
    }

    /// Ends the questions of askers that wait no more.
    pub(super) fn withdraw(&mut self, is_gone: impl Fn(&Asker) -> bool) {
        let ended = self.queue.withdraw(is_gone);
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
    pub(super) fn end_all(&mut self, closed: impl IntoIterator<Item = Closed<Asker>>) {
        for closed in closed {
            let Closed {
                question,
                token,
                end,
            } = closed;
            self.tell(token, Some(&end), end.for_guest());
            self.listeners.end(question.id, &end);
            // It was recorded when the client allowed it.
            if !end.is_allowed() {
                self.journal.add(&Event::Ended { question, end });
            }
        }
    }

    /// Tells the one who waits the end of a question; `None` if it was refused as it came.
    fn tell(&mut self, asker: Asker, end: Option<&End>, text: &str) {
        let is_allowed = end.is_some_and(End::is_allowed);
        match asker {
            Asker::Agent(token) => {
                if let Some(answers) = &mut self.answers {
                    answers.push_back(Told {
                        token,
                        is_allowed,
                        text: text.to_owned(),
                    });
                    self.changed.notify_one();
                }
            }
            Asker::Share { share, token } => {
                if let Some(share) = self.shares.get(share) {
                    // There is room for the answers to all questions that can wait in a share. One that asks more
                    // denies them when their time is over.
                    let _ = share.try_send(ToShare::Told { token, is_allowed });
                }
            }
            Asker::Network { token } => {
                if let Some(network) = &self.network {
                    // There is room for the answers to all questions that can wait.
                    let told = network_told(end);
                    let _ = network.try_send(ToNetwork::Told { token, told });
                }
            }
        }
    }
}

/// Returns what the network is told of the end of a question; `None` if it was refused as it came.
const fn network_told(end: Option<&End>) -> msb_network::Told {
    match end {
        Some(End::Answered(answer)) => match answer.verdict {
            Verdict::Allow => msb_network::Told::Allowed,
            Verdict::Deny => msb_network::Told::Denied,
        },
        _ => msb_network::Told::Unanswered,
    }
}
