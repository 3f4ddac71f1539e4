use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::create::notices;
use super::{Effect, SNAPSHOT_HINT, SandboxTool};
use crate::call::Call;
use crate::failure::Stop;
use crate::session::Session;

/// Creates a sandbox of the files of another one.
pub(super) struct Fork;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the sandbox; the session's first one if left out.
    name: Option<String>,
    /// Snapshot whose files the new sandbox begins with; its files of this moment if left out.
    snapshot: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Name of the new sandbox.
    name: String,
    /// Facts that the user may want to know.
    notices: Vec<String>,
}

impl SandboxTool for Fork {
    const NAME: &'static str = "sandbox_fork";
    const TITLE: &'static str = "Fork a sandbox";
    const DESCRIPTION: &'static str = "Creates another sandbox with the files of a sandbox, and starts it, so that two \
        ways can be tried. Processes are not taken along.";
    const EFFECT: Effect = Effect::ADDS;
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, arguments: Arguments) -> Result<Output, Stop> {
        let source = session.sandbox(call, arguments.name.as_deref()).await?;
        let fork = session.fork(call, &source, arguments.snapshot).await;
        let fork = fork.map_err(|stop| stop.when_not_found(SNAPSHOT_HINT))?;
        Ok(Output {
            name: fork.name(),
            notices: notices(&fork),
        })
    }
}
