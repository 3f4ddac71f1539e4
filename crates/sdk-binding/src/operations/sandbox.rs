use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use msb_sdk::{Changes, Force, Notice, Sandbox, StartOptions};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::{Named, Nothing};
use crate::answer::Answer;
use crate::failure::Failure;
use crate::object::Object;
use crate::operation::Operation;

/// A sandbox. One that is owned ends when the object is dropped.
pub(super) struct SandboxObject(pub(super) Sandbox);

impl Object for SandboxObject {
    const KIND: &'static str = "sandbox";
}

#[derive(Debug, Deserialize)]
struct Stop {
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(default)]
    signal: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Remove {
    #[serde(default)]
    force: bool,
}

#[derive(Debug, Deserialize)]
struct Wait {
    #[serde(default)]
    timeout_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct SignalParameters {
    signal: String,
}

#[derive(Debug, Serialize)]
struct Started {
    warnings: Vec<Notice>,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::of_options("start", start),
        Operation::new("stop", stop),
        Operation::new("kill", kill),
        Operation::new("signal", signal),
        Operation::new("pause", pause),
        Operation::new("unpause", unpause),
        Operation::new("remove", remove),
        Operation::new("detach", detach),
        Operation::new("close", close),
        Operation::new("wait", wait),
        Operation::new("inspect", inspect),
        Operation::new("ports", ports),
        Operation::of_options("update", update),
        Operation::new("rename", rename),
        Operation::new("stats", stats),
    ]
}

async fn start(
    sandbox: Arc<SandboxObject>,
    options: StartOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let warnings = sandbox.0.start_with(options).await?;
    Answer::with_value(&Started { warnings })
}

async fn stop(sandbox: Arc<SandboxObject>, stop: Stop, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let grace = stop.timeout_ms.map(Duration::from_millis);
    Answer::with_value(&sandbox.0.stop_with(grace, stop.signal).await?)
}

async fn kill(sandbox: Arc<SandboxObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    sandbox.0.kill().await?;
    Ok(Answer::empty())
}

async fn signal(
    sandbox: Arc<SandboxObject>,
    parameters: SignalParameters,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    sandbox.0.signal(parameters.signal).await?;
    Ok(Answer::empty())
}

async fn pause(sandbox: Arc<SandboxObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    sandbox.0.pause().await?;
    Ok(Answer::empty())
}

async fn unpause(
    sandbox: Arc<SandboxObject>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    sandbox.0.unpause().await?;
    Ok(Answer::empty())
}

async fn remove(
    sandbox: Arc<SandboxObject>,
    remove: Remove,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let force = if remove.force { Force::Yes } else { Force::No };
    sandbox.0.remove(force).await?;
    Ok(Answer::empty())
}

async fn detach(sandbox: Arc<SandboxObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    sandbox.0.detach().await?;
    Ok(Answer::empty())
}

async fn close(sandbox: Arc<SandboxObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    sandbox.0.close().await?;
    Ok(Answer::empty())
}

/// Returns the exit; null if the sandbox still runs after the timeout.
async fn wait(sandbox: Arc<SandboxObject>, wait: Wait, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let exit = match wait.timeout_ms {
        None => sandbox.0.wait().await,
        Some(time_ms) => match timeout(Duration::from_millis(time_ms), sandbox.0.wait()).await {
            Ok(exit) => exit,
            Err(_elapsed) => return Ok(Answer::empty()),
        },
    };
    Answer::with_value(&exit?)
}

async fn inspect(
    sandbox: Arc<SandboxObject>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    Answer::with_value(&sandbox.0.inspect().await?)
}

async fn ports(sandbox: Arc<SandboxObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    Answer::with_value(&sandbox.0.ports().await?)
}

async fn update(
    sandbox: Arc<SandboxObject>,
    changes: Changes,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    sandbox.0.update(changes).await?;
    Ok(Answer::empty())
}

async fn rename(
    sandbox: Arc<SandboxObject>,
    renamed: Named,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    sandbox.0.rename(renamed.name).await?;
    Ok(Answer::empty())
}

async fn stats(sandbox: Arc<SandboxObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    Answer::with_value(&sandbox.0.stats().await?)
}
