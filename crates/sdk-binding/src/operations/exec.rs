use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{ExecOptions, Process};
use serde::Serialize;

use super::Nothing;
use super::process::ProcessObject;
use super::sandbox::SandboxObject;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::operation::Operation;

#[derive(Debug, Serialize)]
struct Spawned {
    pid: u32,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::of_options("exec", exec),
        Operation::of_options("spawn", spawn),
        Operation::new("attach", attach),
    ]
}

/// Takes standard input, and returns standard output and standard error.
async fn exec(
    sandbox: Arc<SandboxObject>,
    options: ExecOptions,
    content: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let stdin = content.into_iter().next();
    let output = sandbox.0.exec_with(options, stdin).await?;
    let answer = Answer::with_value(&output)?;
    Ok(answer.with_content(vec![output.stdout, output.stderr]))
}

async fn spawn(
    sandbox: Arc<SandboxObject>,
    options: ExecOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    spawned(sandbox.0.spawn_with(options).await?)
}

async fn attach(sandbox: Arc<SandboxObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    spawned(sandbox.0.attach().await?)
}

fn spawned(process: Process) -> Result<Answer, Failure> {
    let answer = Answer::with_value(&Spawned { pid: process.pid() })?;
    Ok(answer.with_object(ProcessObject(process)))
}
