use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use msb_agent_protocol::Status;
use msb_agent_protocol::v1::{
    Listening, Question as Shown, QuestionEnd, QuestionEvent, QuestionKind, question_event,
};
use questions::{Kind, News, Question};
use tokio_stream::Stream;

use super::state::{State, lock};

/// The events for a client that listens. It does so until this value is dropped.
#[derive(Debug)]
pub(crate) struct Events {
    state: Arc<Mutex<State>>,
    /// The number of the client among the listeners.
    number: u64,
}

impl Events {
    pub(super) const fn new(state: Arc<Mutex<State>>, number: u64) -> Self {
        Self { state, number }
    }
}

impl Stream for Events {
    type Item = Result<QuestionEvent, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let news = lock(&self.state).listeners.poll(self.number, context);
        news.map(|news| {
            let event = news.map(event);
            event.map(|event| Ok(QuestionEvent { event: Some(event) }))
        })
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        lock(&self.state).leave(self.number);
    }
}

fn event(news: News) -> question_event::Event {
    match news {
        News::Asked(question) => question_event::Event::Asked(shown(question)),
        News::Ended { id, end } => question_event::Event::Ended(QuestionEnd {
            id,
            is_allowed: end.is_allowed(),
            text: end.for_guest().to_owned(),
        }),
        News::Listening => question_event::Event::Listening(Listening {}),
    }
}

/// Returns a question for clients.
fn shown(question: Question) -> Shown {
    let kind = match question.kind {
        Kind::Path => QuestionKind::Path,
        Kind::Network => QuestionKind::Network,
        Kind::Read => QuestionKind::Read,
        Kind::Change => QuestionKind::Change,
        _ => QuestionKind::Unknown,
    };
    Shown {
        id: question.id,
        kind: kind.into(),
        subject: question.subject,
        reason: question.reason,
        process: question.process,
        uid: question.uid,
    }
}
