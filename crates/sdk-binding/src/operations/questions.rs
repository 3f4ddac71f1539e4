use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{Question, QuestionAnswer, Questions, RuleState, Text};
use serde::Deserialize;

use super::Nothing;
use super::sandbox::SandboxObject;
use super::streams::Stream;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::object::Object;
use crate::operation::Operation;

impl Object for Stream<Questions> {
    const KIND: &'static str = "questions";

    fn close(&self) {
        Self::close(self);
    }
}

#[derive(Debug, Deserialize)]
struct Answered {
    question: Question,
    answer: QuestionAnswer,
}

#[derive(Debug, Deserialize)]
struct Allow {
    path: Text,
    state: RuleState,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::new("questions", questions),
        Operation::new("next", next),
        Operation::new("close", close),
        Operation::new("answer", answer),
        Operation::new("allow", allow),
    ]
}

async fn questions(
    sandbox: Arc<SandboxObject>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let questions = sandbox.0.questions().await?;
    Ok(Answer::empty().with_object(Stream::new(questions)))
}

/// Returns the next event; null once the sandbox has ended.
async fn next(
    questions: Arc<Stream<Questions>>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let Some(events) = questions.open() else {
        return Ok(Answer::empty());
    };
    let next = questions.unless_closed(events.next()).await;
    match next.transpose()?.flatten() {
        Some(event) => Answer::with_value(&event),
        None => Ok(Answer::empty()),
    }
}

async fn close(
    questions: Arc<Stream<Questions>>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    questions.close();
    Ok(Answer::empty())
}

/// Answers true if the answer counts.
async fn answer(
    sandbox: Arc<SandboxObject>,
    answered: Answered,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let counts = sandbox.0.answer(answered.question, answered.answer).await?;
    Answer::with_value(&counts)
}

async fn allow(
    sandbox: Arc<SandboxObject>,
    allow: Allow,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let allowed = sandbox.0.allow(allow.path, allow.state).await?;
    Answer::with_value(&allowed)
}
