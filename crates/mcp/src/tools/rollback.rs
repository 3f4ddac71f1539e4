use msb_sdk::RollbackOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, SNAPSHOT_HINT, SandboxTool};
use crate::call::Call;
use crate::failure::Stop;
use crate::session::Session;

/// Goes back to a snapshot.
pub(super) struct Rollback;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the sandbox; the session's first one if left out.
    name: Option<String>,
    /// Name of the snapshot.
    snapshot: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Snapshot of the files before the rollback; a rollback to it takes this one back.
    undo: String,
}

impl SandboxTool for Rollback {
    const NAME: &'static str = "sandbox_rollback";
    const TITLE: &'static str = "Go back to a snapshot";
    const DESCRIPTION: &'static str = "Makes the files of a sandbox those of a snapshot. Its processes are killed. The \
        files before are kept as another snapshot.";
    const EFFECT: Effect = Effect::DESTROYS.idempotent();
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, arguments: Arguments) -> Result<Output, Stop> {
        let sandbox = session.sandbox(call, arguments.name.as_deref()).await?;
        let mut options = RollbackOptions::default();
        options.name = Some(arguments.snapshot);
        options.start = session.settings.template.start.clone();
        let rolled = call.awaited(sandbox.rollback_with(options)).await;
        let rolled = rolled.map_err(|stop| stop.when_not_found(SNAPSHOT_HINT))?;
        Ok(Output {
            undo: rolled.kept.name,
        })
    }
}
