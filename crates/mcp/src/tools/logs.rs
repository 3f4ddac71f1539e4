use msb_sdk::{Error, LogOptions, LogSource, Sandbox};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, SandboxTool, number};
use crate::bounded_text::{BoundedText, Text};
use crate::call::Call;
use crate::failure::{Failure, Stop};
use crate::session::Session;

/// The lines that a call returns, unless it asks for another number.
const TAIL: u64 = 200;
/// The most lines that a call returns.
const TAIL_MAX: u64 = 2000;

/// Prints a log.
pub(super) struct Logs;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the sandbox; the session's first one if left out.
    name: Option<String>,
    /// Log: network has connections, refusals and DNS queries as JSON, console what the kernel printed, and output
    /// what a main command printed, which sandboxes of a session do not have. Network if left out.
    #[serde(default)]
    source: Source,
    /// Number of last lines, at most 2000; 200 if left out.
    #[schemars(range(min = 1, max = TAIL_MAX))]
    tail: Option<u64>,
    /// True for refusals of the network alone.
    #[serde(default)]
    denied: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Source {
    #[default]
    Network,
    Console,
    Output,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The lines: the first and the last 16 KiB.
    text: String,
    /// Number of bytes that are left out.
    truncated: u64,
}

impl SandboxTool for Logs {
    const NAME: &'static str = "sandbox_logs";
    const TITLE: &'static str = "Read a log";
    const DESCRIPTION: &'static str = "Returns the last lines of a log of a sandbox: of its network, by default, which \
        tells why a connection is refused.";
    const EFFECT: Effect = Effect::READS;
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, arguments: Arguments) -> Result<Output, Stop> {
        let tail = number("tail", arguments.tail, TAIL, TAIL_MAX)?;
        if arguments.denied && arguments.source != Source::Network {
            return Err(Failure::invalid("denied is for the log of the network").into());
        }
        let sandbox = session.sandbox(call, arguments.name.as_deref()).await?;
        let mut options = LogOptions::default();
        options.source = arguments.source.into();
        options.tail = usize::try_from(tail).ok();
        options.denied = arguments.denied;
        let text = call.awaited(text(&sandbox, options)).await?;
        Ok(Output {
            text: text.text,
            truncated: text.left_out,
        })
    }
}

/// Returns the lines of a log.
pub(crate) async fn text(sandbox: &Sandbox, options: LogOptions) -> Result<Text, Error> {
    let logs = sandbox.logs().with(options).await?;
    let mut text = BoundedText::default();
    while let Some(record) = logs.next().await? {
        text.push(&record.data);
    }
    Ok(text.finish())
}

impl From<Source> for LogSource {
    fn from(source: Source) -> Self {
        match source {
            Source::Network => Self::Network,
            Source::Console => Self::Console,
            Source::Output => Self::Output,
        }
    }
}
