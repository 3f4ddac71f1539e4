//! The steps that run commands.

use anyhow::{Context as _, Result};
use msb_sdk::{Bytes, Event, ExecOptions, LogOptions, NetworkEvent, Process, Sandbox, Text};
use serde_json::{Map, Value, json};

use super::data::bytes;
use super::expectation::{Field, Fields, plain};
use super::steps::{StepError, read, word};

/// Parameters of a step that are options of a command.
const OPTIONS: [&str; 8] = [
    "env",
    "cwd",
    "user",
    "timeout_ms",
    "max_output",
    "check",
    "tty",
    "snapshot",
];

/// Returns the words of a step's command.
pub(super) fn argv(step: &Value) -> Result<Vec<Text>> {
    let words = step["argv"].as_array().context("no argv")?;
    words
        .iter()
        .map(|word| Ok(Text::from(bytes(word)?)))
        .collect()
}

/// Follows the log of the network to the refusal of a port.
pub(super) async fn network_log(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let mut options = LogOptions::default();
    (options.follow, options.denied) = (true, true);
    let log = sandbox.network_log(options).await?;
    while let Some(record) = log.next().await? {
        if let NetworkEvent::Connect(refused) = record.event
            && step["port"] == refused.port
        {
            return Ok(Fields::from([
                ("proto", plain(refused.proto.to_string())),
                ("address", plain(refused.address.to_string())),
                ("verdict", plain(json!(refused.verdict))),
                ("rule", plain(refused.rule)),
                ("hint", plain(json!(refused.hint))),
            ]));
        }
    }
    Err(StepError::Other(anyhow::anyhow!("the log has ended")))
}

/// Runs a command and collects its output.
pub(super) async fn exec(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let options = options(step)?;
    let stdin = match step.get("stdin") {
        Some(stdin) => Some(Bytes::from(bytes(stdin)?)),
        None => None,
    };
    let output = sandbox.exec_with(options, stdin).await?;
    Ok(Fields::from([
        ("exit_code", plain(output.exit_code)),
        ("signal", plain(output.signal)),
        ("stdout_bytes", plain(output.stdout.len())),
        ("stdout", Field::Data(output.stdout)),
        ("stderr", Field::Data(output.stderr)),
    ]))
}

/// Runs a command whose output is streamed.
pub(super) async fn spawn(sandbox: &Sandbox, step: &Value) -> Result<Fields, StepError> {
    let mut options = options(step)?;
    options.stdin = step.get("write").is_some();
    let process = sandbox.spawn_with(options).await?;
    if step["close"] == true {
        process.close();
        return Ok(Fields::new());
    }
    if let Some(pieces) = step["write"].as_array() {
        let stdin = process.stdin();
        for piece in pieces {
            stdin.write(bytes(piece)?).await?;
        }
        stdin.close().await?;
    }
    let [stdout, stderr] = read_output(&process, step).await?;
    let exit = process.wait().await?;
    Ok(Fields::from([
        ("exit_code", plain(exit.code)),
        ("signal", plain(exit.signal)),
        ("stdout", Field::Data(stdout.into())),
        ("stderr", Field::Data(stderr.into())),
    ]))
}

/// Reads the output, and sends the step's signal once the awaited output has come.
async fn read_output(process: &Process, step: &Value) -> Result<[Vec<u8>; 2], StepError> {
    let mut pieces = [Vec::new(), Vec::new()];
    let mut awaited = step["signal_after"]
        .as_str()
        .or(step["kill_after"].as_str());
    while let Some(event) = process.next().await? {
        match event {
            Event::Stdout(bytes) => pieces[0].extend_from_slice(&bytes),
            Event::Stderr(bytes) => pieces[1].extend_from_slice(&bytes),
            _ => {}
        }
        if awaited.is_some_and(|awaited| pieces[0] == awaited.as_bytes()) {
            awaited = None;
            match step["signal"].as_u64() {
                Some(signal) => {
                    let signal = i32::try_from(signal).context("not a signal")?;
                    process.signal(signal).await?;
                }
                None => process.kill().await?,
            }
        }
    }
    Ok(pieces)
}

fn options(step: &Value) -> Result<ExecOptions> {
    let given = OPTIONS.iter().filter_map(|name| {
        let value = step.get(*name)?;
        Some(((*name).to_owned(), value.clone()))
    });
    let mut options = read::<ExecOptions>(given.collect::<Map<_, _>>().into())?;
    options.argv = if step["do"] == "shell" {
        ["/bin/sh", "-c", word(step, "text")?]
            .map(Text::from)
            .into()
    } else {
        argv(step)?
    };
    Ok(options)
}
