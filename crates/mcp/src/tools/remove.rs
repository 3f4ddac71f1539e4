use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, SandboxTool};
use crate::call::Call;
use crate::failure::Stop;
use crate::session::Session;

/// Removes a sandbox.
pub(super) struct Remove;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the sandbox.
    name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Name of the sandbox that is gone.
    removed: String,
}

impl SandboxTool for Remove {
    const NAME: &'static str = "sandbox_remove";
    const TITLE: &'static str = "Remove a sandbox";
    const DESCRIPTION: &'static str =
        "Kills a sandbox if it runs, and removes it with its files and its snapshots.";
    const EFFECT: Effect = Effect::DESTROYS.idempotent();
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, arguments: Arguments) -> Result<Output, Stop> {
        let sandbox = session.sandbox(call, Some(&arguments.name)).await?;
        let removed = sandbox.name();
        session.remove(call, &sandbox).await?;
        Ok(Output { removed })
    }
}
