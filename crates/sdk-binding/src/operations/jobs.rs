use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{ExecOptions, Signal};
use serde::{Deserialize, Serialize};

use super::Nothing;
use super::sandbox::SandboxObject;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::operation::Operation;

#[derive(Debug, Deserialize, Serialize)]
struct JobParameters {
    id: u64,
}

#[derive(Debug, Deserialize)]
struct SignalParameters {
    id: u64,
    signal: Signal,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::of_options("jobs.start", start),
        Operation::new("jobs.list", list),
        Operation::new("jobs.inspect", inspect),
        Operation::new("jobs.wait", wait),
        Operation::new("jobs.signal", signal),
        Operation::new("jobs.kill", kill),
    ]
}

async fn start(
    sandbox: Arc<SandboxObject>,
    options: ExecOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let job = sandbox.0.jobs().start_with(options).await?;
    Answer::with_value(&JobParameters { id: job.id() })
}

async fn list(sandbox: Arc<SandboxObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    Answer::with_value(&sandbox.0.jobs().list().await?)
}

async fn inspect(
    sandbox: Arc<SandboxObject>,
    job: JobParameters,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    Answer::with_value(&sandbox.0.jobs().job(job.id).inspect().await?)
}

async fn wait(
    sandbox: Arc<SandboxObject>,
    job: JobParameters,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    Answer::with_value(&sandbox.0.jobs().job(job.id).wait().await?)
}

async fn signal(
    sandbox: Arc<SandboxObject>,
    parameters: SignalParameters,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let job = sandbox.0.jobs().job(parameters.id);
    job.signal(parameters.signal).await?;
    Ok(Answer::empty())
}

async fn kill(
    sandbox: Arc<SandboxObject>,
    job: JobParameters,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    sandbox.0.jobs().job(job.id).kill().await?;
    Ok(Answer::empty())
}
