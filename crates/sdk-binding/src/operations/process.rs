use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use msb_sdk::{Event, OutputStream, Process, Signal};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::Nothing;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::object::Object;
use crate::operation::Operation;

/// A running command, which is killed when the object is dropped.
pub(super) struct ProcessObject(pub(super) Process);

impl Object for ProcessObject {
    const KIND: &'static str = "process";

    fn close(&self) {
        self.0.close();
    }
}

#[derive(Debug, Deserialize)]
struct Wait {
    #[serde(default)]
    timeout_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Resize {
    rows: u16,
    cols: u16,
}

#[derive(Debug, Deserialize)]
struct SignalParameters {
    signal: Signal,
}

#[derive(Debug, Serialize)]
struct Printed {
    stream: OutputStream,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::new("next", next),
        Operation::new("wait", wait),
        Operation::new("write", write),
        Operation::new("close_stdin", close_stdin),
        Operation::new("resize", resize),
        Operation::new("signal", signal),
        Operation::new("kill", kill),
        Operation::new("close", close),
    ]
}

/// Returns the next output with its bytes; null after the last.
async fn next(process: Arc<ProcessObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let (stream, bytes) = match process.0.next().await? {
        Some(Event::Stdout(bytes)) => (OutputStream::Stdout, bytes),
        Some(Event::Stderr(bytes)) => (OutputStream::Stderr, bytes),
        // The exit is the result of `wait`.
        _ => return Ok(Answer::empty()),
    };
    let answer = Answer::with_value(&Printed { stream })?;
    Ok(answer.with_content(vec![bytes]))
}

/// Returns the exit; null if the command still runs after the timeout.
async fn wait(process: Arc<ProcessObject>, wait: Wait, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let exit = match wait.timeout_ms {
        None => process.0.wait().await,
        Some(time_ms) => match timeout(Duration::from_millis(time_ms), process.0.wait()).await {
            Ok(exit) => exit,
            Err(_elapsed) => return Ok(Answer::empty()),
        },
    };
    Answer::with_value(&exit?)
}

async fn write(
    process: Arc<ProcessObject>,
    _: Nothing,
    content: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let stdin = process.0.stdin();
    for bytes in content {
        stdin.write(bytes).await?;
    }
    Ok(Answer::empty())
}

async fn close_stdin(
    process: Arc<ProcessObject>,
    _: Nothing,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    process.0.stdin().close().await?;
    Ok(Answer::empty())
}

async fn resize(
    process: Arc<ProcessObject>,
    size: Resize,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    process.0.resize(size.rows, size.cols).await?;
    Ok(Answer::empty())
}

async fn signal(
    process: Arc<ProcessObject>,
    parameters: SignalParameters,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    process.0.signal(parameters.signal.number()).await?;
    Ok(Answer::empty())
}

async fn kill(process: Arc<ProcessObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    process.0.kill().await?;
    Ok(Answer::empty())
}

async fn close(process: Arc<ProcessObject>, _: Nothing, _: Vec<Bytes>) -> Result<Answer, Failure> {
    process.0.close();
    Ok(Answer::empty())
}
