use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{LogOptions, Logs, NetworkLog};
use serde::Deserialize;

use super::Nothing;
use super::sandbox::SandboxObject;
use super::streams::Stream;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::object::Object;
use crate::operation::Operation;

#[derive(Debug, Deserialize)]
struct JobLogs {
    id: u64,
    #[serde(default)]
    follow: bool,
    #[serde(default)]
    tail: Option<usize>,
}

#[derive(Debug, Deserialize)]
struct NetworkLogOptions {
    #[serde(default)]
    follow: bool,
    #[serde(default)]
    denied: bool,
    #[serde(default)]
    tail: Option<usize>,
    #[serde(default)]
    since_ns: Option<u64>,
    #[serde(default)]
    until_ns: Option<u64>,
}

impl Object for Stream<NetworkLog> {
    const KIND: &'static str = "network-log";

    fn close(&self) {
        Self::close(self);
    }
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::of_options("logs", logs),
        Operation::new("jobs.logs", job_logs),
        Operation::new("next", next),
        Operation::new("close", close),
        Operation::new("network_log", network_log),
        Operation::new("next", next_of_network),
        Operation::new("close", close_network_log),
    ]
}

async fn logs(
    sandbox: Arc<SandboxObject>,
    options: LogOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let logs = sandbox.0.logs().with(options).await?;
    Ok(Answer::empty().with_object(Stream::new(logs)))
}

async fn job_logs(
    sandbox: Arc<SandboxObject>,
    parameters: JobLogs,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let request = sandbox.0.jobs().job(parameters.id).logs();
    let request = request.follow(parameters.follow);
    let logs = match parameters.tail {
        Some(count) => request.tail(count).await?,
        None => request.await?,
    };
    Ok(Answer::empty().with_object(Stream::new(logs)))
}

/// Returns the next record with its bytes; null after the last.
async fn next(logs: Arc<Stream<Logs>>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let Some(records) = logs.open() else {
        return Ok(Answer::empty());
    };
    let next = logs.unless_closed(records.next()).await;
    match next.transpose()?.flatten() {
        Some(record) => Ok(Answer::with_value(&record)?.with_content(vec![record.data])),
        None => Ok(Answer::empty()),
    }
}

async fn network_log(
    sandbox: Arc<SandboxObject>,
    parameters: NetworkLogOptions,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let mut options = LogOptions::default();
    options.follow = parameters.follow;
    options.denied = parameters.denied;
    options.tail = parameters.tail;
    options.since_ns = parameters.since_ns;
    options.until_ns = parameters.until_ns;
    let log = sandbox.0.network_log(options).await?;
    Ok(Answer::empty().with_object(Stream::new(log)))
}

/// Returns the next record; null after the last.
async fn next_of_network(
    log: Arc<Stream<NetworkLog>>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let Some(records) = log.open() else {
        return Ok(Answer::empty());
    };
    let next = log.unless_closed(records.next()).await;
    match next.transpose()?.flatten() {
        Some(record) => Answer::with_value(&record),
        None => Ok(Answer::empty()),
    }
}

async fn close_network_log(
    log: Arc<Stream<NetworkLog>>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    log.close();
    Ok(Answer::empty())
}

async fn close(logs: Arc<Stream<Logs>>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    logs.close();
    Ok(Answer::empty())
}
