//! The questions of the guest: taken from the agent, shown to the clients that listen, answered by the first.

mod events;
mod journal;
mod listeners;
mod network;
mod numbers;
mod shares;
mod state;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use msb_agent_protocol::v1::{AnswerKind, AnswerQuestionRequest, AskInput, ask_event, ask_input};
use msb_agent_protocol::{Client, Status};
use questions::{Answer, End, Event, Queue, Verdict};
use tokio::sync::{Notify, mpsc};
use tokio::time::sleep_until;

pub(super) use events::Events;
use journal::LimitedJournal;
use listeners::Listeners;
pub(super) use network::NetworkQuestions;
use numbers::Numbers;
pub(super) use shares::ShareQuestions;
use state::{Asker, State, lock, now};

/// The answers in the channel to the agent. The others wait in the state.
const PENDING_ANSWERS: usize = 1;

/// The questions of the guest. Clones share their state.
#[derive(Debug, Clone)]
pub(super) struct Questions {
    state: Arc<Mutex<State>>,
    /// Notified when there is an answer, or the time of the next denial may have changed.
    changed: Arc<Notify>,
}

impl Questions {
    /// Returns an empty queue of questions. Events are appended to the journal at `path`, and a file beside it has
    /// the numbers of later questions.
    pub(super) fn new(path: &Path) -> Self {
        let changed = Arc::<Notify>::default();
        let state = State {
            queue: Queue::default(),
            numbers: Numbers::open(path.with_extension("next"), path),
            listeners: Listeners::default(),
            answers: None,
            shares: Vec::new(),
            network: None,
            is_closed: false,
            journal: LimitedJournal::open(path),
            changed: Arc::clone(&changed),
            is_unnumbered: false,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            changed,
        }
    }

    /// Takes the questions of the guest, and denies those whose time is over, until the machine ends.
    pub(super) async fn follow(self, mut agent: Client) {
        let (answers, inputs) = mpsc::channel(PENDING_ANSWERS);
        // An older agent does not know this call.
        let Ok(mut events) = agent.ask(inputs).await else {
            return;
        };
        self.state().answers = Some(VecDeque::new());
        loop {
            let outlook = self.state().outlook();
            let due = async {
                match outlook.deadline {
                    Some(deadline) => sleep_until(deadline.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                room = answers.reserve(), if outlook.has_answers => {
                    let Ok(room) = room else { break };
                    let told = self.state().next_answer();
                    room.send(AskInput { input: told.map(ask_input::Input::Told) });
                }
                event = events.message(), if outlook.has_room => match event {
                    Ok(Some(event)) => match event.event {
                        Some(ask_event::Event::Asked(asked)) => self.state().ask(&asked),
                        Some(ask_event::Event::Withdrawn(token)) => {
                            self.state().withdraw(|asker| *asker == Asker::Agent(token));
                        }
                        None => {}
                    },
                    _ => break,
                },
                () = due => self.state().expire(now()),
                () = self.changed.notified() => {}
            }
        }
        self.state().break_off();
    }

    /// Adds a client that listens. The questions that wait for an answer are its first events.
    pub(super) fn listen(&self) -> Result<Events, Status> {
        let mut state = self.state();
        let State {
            queue, listeners, ..
        } = &mut *state;
        let number = listeners.add(queue.unanswered().cloned());
        let number = number
            .ok_or_else(|| Status::resource_exhausted("too many clients listen for questions"))?;
        Ok(Events::new(Arc::clone(&self.state), number))
    }

    /// Carries out a step of an answer.
    pub(super) fn answer(&self, request: &AnswerQuestionRequest) -> Result<(), Status> {
        let unknown = |_| Status::invalid_argument("the step of the answer is unknown");
        let kind = AnswerKind::try_from(request.kind).map_err(unknown)?;
        let verdict = match kind {
            AnswerKind::Deny => Verdict::Deny,
            _ => Verdict::Allow,
        };
        let answer = Answer::once(verdict, &request.by).with_rule(request.rule.as_deref());
        let (id, now) = (request.id, now());
        let mut state = self.state();
        let closed = match kind {
            AnswerKind::Deny => state.queue.answer(id, answer).map(Some),
            AnswerKind::Allow => {
                let allowed = state.queue.allow_later(id, answer.clone(), now);
                allowed.cloned().map(|question| {
                    let end = End::Answered(answer);
                    // The machine may end before this is delivered.
                    state.journal.add(&Event::Ended { question, end });
                    None
                })
            }
            AnswerKind::Delivering => state.queue.renew(id, now).map(|()| None),
            AnswerKind::Delivered => state.queue.deliver(id, true).map(Some),
            AnswerKind::Undelivered => state.queue.deliver(id, false).map(Some),
        };
        let closed = closed.map_err(|error| Status::not_found(error.to_string()))?;
        state.end_all(closed);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

#[cfg(test)]
mod agent_tests;
#[cfg(test)]
mod tests;
