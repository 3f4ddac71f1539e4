//! Questions of the guest's processes, which the host answers.
//!
//! A process connects to `/dev/msb/ask` and writes a path and a reason, each with a NUL byte at its end. It
//! reads one line: `allow TEXT` or `deny TEXT`. The program `/dev/msb/msb-ask` does that for a command. Every
//! user may connect; the number of connections is bounded, for each process and in all.

mod asker;
mod program;
mod socket;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use msb_agent_protocol::v1::{AskEvent, AskInput, Asked, Told, ask_event, ask_input};
use msb_agent_protocol::{Status, Streaming};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;

use crate::files::Answers;
pub(crate) use program::{NAME, run};
pub(crate) use socket::{close, offer};

/// The number of processes' questions at a time.
const OPEN_MAX: usize = 64;
/// The number of questions of one process at a time, so that it leaves room for others.
const OF_PROCESS_MAX: usize = 4;
/// The number of events that may wait for the host. Each question has at most two.
const PENDING_EVENTS: usize = 2 * OPEN_MAX;

/// The text of a question that cannot be passed on.
const NO_HOST: &str = "denied: the host takes no questions";
const TOO_MANY: &str = "denied: too many questions are open";

/// The questions of all processes. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Questions(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The call of the host.
    host: Option<mpsc::Sender<Result<AskEvent, Status>>>,
    open: HashMap<u64, Open>,
    last_token: u64,
}

#[derive(Debug)]
struct Open {
    pid: Option<i32>,
    /// The process that waits; `None` before its question has come.
    asker: Option<oneshot::Sender<Told>>,
}

/// A place for a question. Dropping it withdraws the question.
struct Place {
    questions: Questions,
    token: u64,
}

impl Questions {
    /// Passes questions on to the host that makes this call, and its answers to the processes.
    pub(crate) fn pass_on(&self, mut inputs: Streaming<AskInput>) -> Answers<AskEvent> {
        let (host, events) = mpsc::channel(PENDING_EVENTS);
        {
            let mut state = self.state();
            state.open.values_mut().for_each(|open| open.asker = None);
            state.host = Some(host.clone());
        }
        let questions = self.clone();
        tokio::spawn(async move {
            while let Ok(Some(input)) = inputs.message().await {
                if let Some(ask_input::Input::Told(told)) = input.input {
                    questions.tell(told);
                }
            }
            let mut state = questions.state();
            if state
                .host
                .as_ref()
                .is_some_and(|now| now.same_channel(&host))
            {
                state.host = None;
                state.open.values_mut().for_each(|open| open.asker = None);
            }
        });
        ReceiverStream::new(events)
    }

    /// Passes an answer on to the process that waits for it.
    fn tell(&self, told: Told) {
        let mut state = self.state();
        let asker = state
            .open
            .get_mut(&told.token)
            .and_then(|open| open.asker.take());
        if let Some(asker) = asker {
            // The process may be gone.
            let _ = asker.send(told);
        }
    }

    /// Takes a place for a question of a process. `None` if too many are taken.
    fn enter(&self, pid: Option<i32>) -> Option<Place> {
        let mut state = self.state();
        let of_process = state.open.values().filter(|open| open.pid == pid).count();
        if state.open.len() >= OPEN_MAX || of_process >= OF_PROCESS_MAX {
            return None;
        }
        state.last_token += 1;
        let token = state.last_token;
        state.open.insert(token, Open { pid, asker: None });
        Some(Place {
            questions: self.clone(),
            token,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Passes a question on to the host, and returns the wait for its answer.
    fn ask(&self, asked: Asked) -> Result<oneshot::Receiver<Told>, &'static str> {
        let mut state = self.questions.state();
        let host = state.host.clone().ok_or(NO_HOST)?;
        let event = ask_event::Event::Asked(Asked {
            token: self.token,
            ..asked
        });
        let sent = host.try_send(Ok(AskEvent { event: Some(event) }));
        sent.map_err(|_| TOO_MANY)?;
        let (asker, told) = oneshot::channel();
        if let Some(open) = state.open.get_mut(&self.token) {
            open.asker = Some(asker);
        }
        Ok(told)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.questions.state();
        let open = state.open.remove(&self.token);
        if open.is_some_and(|open| open.asker.is_some())
            && let Some(host) = &state.host
        {
            let event = Some(ask_event::Event::Withdrawn(self.token));
            // A host that does not read denies the question when its time is over.
            let _ = host.try_send(Ok(AskEvent { event }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listening(questions: &Questions) -> mpsc::Receiver<Result<AskEvent, Status>> {
        let (host, events) = mpsc::channel(PENDING_EVENTS);
        questions.state().host = Some(host);
        events
    }

    #[test]
    fn a_process_that_floods_leaves_room_for_others() {
        let questions = Questions::default();
        let taken: Vec<_> = (0..100).filter_map(|_| questions.enter(Some(7))).collect();
        assert_eq!(taken.len(), OF_PROCESS_MAX);
        let others: Vec<_> = (8..200)
            .filter_map(|pid| questions.enter(Some(pid)))
            .collect();
        assert_eq!(others.len(), OPEN_MAX - OF_PROCESS_MAX);
        drop(taken);
        assert!(questions.enter(Some(7)).is_some());
    }

    #[tokio::test]
    async fn an_answer_reaches_its_asker_and_no_other() {
        let questions = Questions::default();
        let place = questions.enter(Some(1)).expect("a place");
        assert_eq!(place.ask(Asked::default()).expect_err("no host"), NO_HOST);
        let mut events = listening(&questions);
        let told = place.ask(Asked::default()).expect("asked");
        let other = questions.enter(Some(1)).expect("a place");
        let mut not_told = other.ask(Asked::default()).expect("asked");
        questions.tell(Told {
            token: place.token,
            is_allowed: true,
            text: "allowed".to_owned(),
        });
        assert!(told.await.expect("told").is_allowed);
        assert!(not_told.try_recv().is_err());
        let token = other.token;
        drop(place);
        drop(other);
        let mut last = None;
        while let Ok(Ok(event)) = events.try_recv() {
            last = event.event;
        }
        assert_eq!(last, Some(ask_event::Event::Withdrawn(token)));
    }
}
