//! The questions about denied destinations, which the user answers through the supervisor.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::limits::{ASK_DENIAL_KEPT, ASK_DENIALS_MAX, ASKS_MAX, ASKS_PER_SECOND_MAX};
use crate::supervisor_messages::{FromNetwork, Told};
use crate::window::Window;

/// The questions of one network. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Asks(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// The way to the supervisor; `None` if there is none.
    messages: Option<mpsc::Sender<FromNetwork>>,
    /// The open questions by their subjects.
    open: HashMap<String, Open>,
    /// The number of the last question.
    last: u64,
    /// The subjects that the user has denied lately, the oldest first.
    denied: VecDeque<(String, Instant)>,
    rate: Window,
}

#[derive(Debug)]
struct Open {
    token: u64,
    told: watch::Sender<Option<Told>>,
}

/// The answer to a request to ask.
#[derive(Debug)]
pub(crate) enum Asked {
    /// The question is open.
    Waits(Pending),
    /// The user has denied the same a moment ago.
    Denied,
    /// No question can be asked now.
    Unasked,
}

/// An open question. Others may wait for the same answer.
#[derive(Debug)]
pub(crate) struct Pending(watch::Receiver<Option<Told>>);

impl Pending {
    /// Waits for the end of the question.
    pub(crate) async fn told(&mut self) -> Told {
        match self.0.wait_for(Option::is_some).await {
            Ok(told) => told.unwrap_or(Told::Unanswered),
            Err(_) => Told::Unanswered,
        }
    }
}

impl Asks {
    /// Returns questions that are asked on this way; without it, none is asked.
    pub(crate) fn new(messages: Option<mpsc::Sender<FromNetwork>>) -> Self {
        Self(Arc::new(Mutex::new(State {
            messages,
            open: HashMap::new(),
            last: 0,
            denied: VecDeque::new(),
            rate: Window::new(ASKS_PER_SECOND_MAX, Instant::now().into_std()),
        })))
    }

    /// Asks about a subject, unless it is asked about already.
    pub(crate) fn ask(&self, subject: &str) -> Asked {
        let now = Instant::now();
        let mut state = self.state();
        state.denied.retain(|(_, until)| now < *until);
        if state.denied.iter().any(|(denied, _)| denied == subject) {
            return Asked::Denied;
        }
        if let Some(open) = state.open.get(subject) {
            return Asked::Waits(Pending(open.told.subscribe()));
        }
        if state.open.len() >= ASKS_MAX || !state.rate.admits(now.into_std()) {
            return Asked::Unasked;
        }
        let token = state.last + 1;
        let message = FromNetwork::Asked {
            token,
            subject: subject.to_owned(),
        };
        let sent = state.messages.as_ref().map(|way| way.try_send(message));
        if !matches!(sent, Some(Ok(()))) {
            return Asked::Unasked;
        }
        state.last = token;
        let (told, pending) = watch::channel(None);
        state.open.insert(subject.to_owned(), Open { token, told });
        Asked::Waits(Pending(pending))
    }

    /// Ends the question with this number.
    pub(crate) fn tell(&self, token: u64, told: Told) {
        let mut state = self.state();
        let found = state.open.iter().find(|(_, open)| open.token == token);
        let Some(subject) = found.map(|(subject, _)| subject.clone()) else {
            return;
        };
        if let Some(open) = state.open.remove(&subject) {
            open.told.send_replace(Some(told));
        }
        if told == Told::Denied {
            if state.denied.len() >= ASK_DENIALS_MAX {
                state.denied.pop_front();
            }
            let until = Instant::now() + ASK_DENIAL_KEPT;
            state.denied.push_back((subject, until));
        }
    }

    /// Forgets the denials, because rules have changed.
    pub(crate) fn forget_denials(&self) {
        self.state().denied.clear();
    }

    /// Ends all questions, and asks none from now on: the supervisor is gone.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.messages = None;
        // Who waits for an answer sees the end of its channel.
        state.open.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
