use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{Network, NetworkChange};
use serde::Deserialize;

use super::Nothing;
use super::sandbox::SandboxObject;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::operation::Operation;

/// Rules, and true if open connections end that are denied now.
#[derive(Debug, Deserialize)]
struct Rules {
    rules: Vec<String>,
    #[serde(default)]
    close: bool,
}

#[derive(Debug, Deserialize)]
struct Set {
    network: Network,
    #[serde(default)]
    close: bool,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::new("network.show", show),
        Operation::new("network.allow", allow),
        Operation::new("network.deny", deny),
        Operation::new("network.remove", remove),
        Operation::new("network.set", set),
    ]
}

async fn show(sandbox: Arc<SandboxObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    Answer::with_value(&sandbox.0.network().show().await?)
}

async fn allow(
    sandbox: Arc<SandboxObject>,
    rules: Rules,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    change(&sandbox, NetworkChange::Allow(rules.rules), rules.close).await
}

async fn deny(sandbox: Arc<SandboxObject>, rules: Rules, _: Vec<Bytes>) -> Result<Answer, Failure> {
    change(&sandbox, NetworkChange::Deny(rules.rules), rules.close).await
}

async fn remove(
    sandbox: Arc<SandboxObject>,
    rules: Rules,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    change(&sandbox, NetworkChange::Remove(rules.rules), rules.close).await
}

async fn set(sandbox: Arc<SandboxObject>, set: Set, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let policy = sandbox.0.network().set_with(set.network, set.close).await?;
    Answer::with_value(&policy)
}

async fn change(
    sandbox: &SandboxObject,
    change: NetworkChange,
    close: bool,
) -> Result<Answer, Failure> {
    let policy = sandbox.0.network().change(change, close).await?;
    Answer::with_value(&policy)
}
