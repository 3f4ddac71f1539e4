use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Streaming};

use crate::v1::{
    AnswerKind, AnswerQuestionRequest, AskEvent, AskInput, ChangeRuleRequest, QuestionEvent,
    QuestionKind, WatchQuestionsRequest,
};
use crate::{Client, ClientError};

/// The interval at which a client says that it still delivers what it has allowed. The supervisor waits six times as
/// long.
const DELIVERY_INTERVAL: Duration = Duration::from_secs(20);

/// The events of questions, as the supervisor reports them.
#[derive(Debug)]
pub struct QuestionEvents(Streaming<QuestionEvent>);

impl QuestionKind {
    /// Returns the word that the kind has in text and in JSON; `unknown` for a kind of a newer machine.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Network => "network",
            Self::Read => "read",
            Self::Change => "change",
            Self::Unknown => "unknown",
        }
    }
}

impl Client {
    /// Receives what processes of the guest ask. The answers are taken from `inputs`. Each event is the guest's
    /// word.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the agent is older than the call.
    pub async fn ask(
        &mut self,
        inputs: mpsc::Receiver<AskInput>,
    ) -> Result<Streaming<AskEvent>, ClientError> {
        let events = self.sandbox.ask(ReceiverStream::new(inputs)).await;
        let events = events.map_err(ClientError::for_call("take questions"))?;
        Ok(events.into_inner())
    }

    /// Listens for questions of the guest. Those that wait for an answer come first.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the VMM process is older than the call.
    pub async fn watch_questions(&mut self) -> Result<QuestionEvents, ClientError> {
        let events = self.supervisor.watch_questions(WatchQuestionsRequest {});
        let events = events.await;
        let events = events.map_err(ClientError::for_call("listen for questions"))?;
        Ok(QuestionEvents(events.into_inner()))
    }

    /// Carries out a step of the answer to a question. `by` is this client, and `rule` the rule that is kept with the
    /// answer, both for the journal. Returns false if the question has another answer, or has ended.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the VMM process is older than the call.
    pub async fn answer_question(
        &mut self,
        id: u64,
        kind: AnswerKind,
        by: &str,
        rule: Option<&str>,
    ) -> Result<bool, ClientError> {
        let request = AnswerQuestionRequest {
            id,
            kind: kind.into(),
            by: by.to_owned(),
            rule: rule.map(str::to_owned),
        };
        match self.supervisor.answer_question(request).await {
            Ok(_) => Ok(true),
            Err(status) if status.code() == Code::NotFound => Ok(false),
            Err(status) => Err(ClientError::for_call("answer a question")(status)),
        }
    }

    /// Changes a rule of the shared directory at `target`, `PATH=STATE`, from the next request of the guest on.
    ///
    /// # Errors
    /// [`Unimplemented`](ClientError::Unimplemented) if the VMM process is older than the call, or
    /// [`Files`](ClientError::Files) if it cannot change the rule.
    pub async fn change_rule(&mut self, target: &str, rule: Vec<u8>) -> Result<(), ClientError> {
        let request = ChangeRuleRequest {
            target: target.to_owned(),
            rule: rule.into(),
        };
        let changed = self.supervisor.change_rule(request).await;
        changed
            .map(drop)
            .map_err(ClientError::for_file_call("change a rule"))
    }

    /// Does the work that delivers what was allowed, and tells the supervisor meanwhile that it goes on. Otherwise the
    /// question is denied after a while, and the process hears of that.
    pub async fn delivering<T>(self, id: u64, work: impl Future<Output = T>) -> T {
        let tell = move || {
            let mut client = self.clone();
            async move {
                let told = client.answer_question(id, AnswerKind::Delivering, "", None);
                // A supervisor that was not told is told again, and in the end that it is done.
                let _ = told.await;
            }
        };
        tokio::select! {
            done = work => done,
            never = repeat(tell) => match never {},
        }
    }
}

impl QuestionEvents {
    /// Returns the next event; `None` once the machine has ended.
    ///
    /// # Errors
    /// [`Silent`](ClientError::Silent) if the supervisor does not answer, as if it were stopped.
    pub async fn next(&mut self) -> Result<Option<QuestionEvent>, ClientError> {
        match self.0.message().await {
            Ok(event) => Ok(event),
            Err(status) => match ClientError::for_call("a question")(status) {
                silent @ ClientError::Silent { .. } => Err(silent),
                // The connection ends with the machine.
                _ => Ok(None),
            },
        }
    }
}

/// Calls `tell` at each interval.
async fn repeat<F: Future<Output = ()>>(mut tell: impl FnMut() -> F) -> Infallible {
    loop {
        sleep(DELIVERY_INTERVAL).await;
        tell().await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_says_at_each_interval_that_it_still_delivers() {
        let told = Cell::new(0);
        let tell = || {
            told.set(told.get() + 1);
            std::future::ready(())
        };
        let done = timeout(DELIVERY_INTERVAL * 7 / 2, repeat(tell)).await;
        assert!(done.is_err());
        assert_eq!(told.get(), 3);
    }
}
