use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{NewValue, SecretSource, SecretValue};
use serde::Deserialize;

use super::sandbox::SandboxObject;
use super::{Named, Nothing};
use crate::answer::Answer;
use crate::failure::Failure;
use crate::operation::Operation;

/// The new value of a secret; that of the recorded source if neither `from` nor `value` is given.
#[derive(Debug, Deserialize)]
struct Set {
    name: String,
    #[serde(default)]
    from: Option<SecretSource>,
    #[serde(default)]
    value: Option<SecretValue>,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::new("secrets.list", list),
        Operation::new("secrets.set", set),
        Operation::new("secrets.remove", remove),
    ]
}

async fn list(sandbox: Arc<SandboxObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    Answer::with_value(&sandbox.0.secrets().list().await?)
}

async fn set(sandbox: Arc<SandboxObject>, set: Set, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let new = match (set.from, set.value) {
        (None, None) => NewValue::Recorded,
        (Some(source), None) => NewValue::From(source),
        (None, Some(value)) => NewValue::Given(value),
        (Some(_), Some(_)) => {
            let message = "a secret has a value or another source, not both";
            return Err(Failure::invalid_argument(message));
        }
    };
    sandbox.0.secrets().set_with(set.name, new).await?;
    Ok(Answer::empty())
}

async fn remove(
    sandbox: Arc<SandboxObject>,
    secret: Named,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    sandbox.0.secrets().remove(secret.name).await?;
    Ok(Answer::empty())
}
