use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{HistoryOptions, UndoOptions};

use super::Noticed;
use super::sandbox::SandboxObject;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::operation::Operation;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::of_options("history", history),
        Operation::of_options("undo", undo),
    ]
}

async fn history(
    sandbox: Arc<SandboxObject>,
    options: HistoryOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    Answer::with_value(&sandbox.0.history_with(options).await?)
}

async fn undo(
    sandbox: Arc<SandboxObject>,
    options: UndoOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let value = sandbox.0.undo_with(options).await?;
    let warnings = value.notices.clone();
    Answer::with_value(&Noticed { value, warnings })
}
