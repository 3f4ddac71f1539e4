use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Streaming};

use crate::v1::{
    AnswerKind, AnswerQuestionRequest, AskEvent, AskInput, QuestionEvent, QuestionKind,
    WatchQuestionsRequest,
};
use crate::{Client, ClientError};

impl QuestionKind {
    /// Returns the word that the kind has in text and in JSON; `unknown` for a kind of a newer machine.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Network => "network",
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
    pub async fn watch_questions(&mut self) -> Result<Streaming<QuestionEvent>, ClientError> {
        let events = self.supervisor.watch_questions(WatchQuestionsRequest {});
        let events = events.await;
        let events = events.map_err(ClientError::for_call("listen for questions"))?;
        Ok(events.into_inner())
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
}
