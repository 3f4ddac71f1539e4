use msb_sdk::SnapshotOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, SandboxTool};
use crate::call::Call;
use crate::failure::Stop;
use crate::session::Session;

/// Takes a snapshot.
pub(super) struct Snapshot;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the sandbox; the session's first one if left out.
    name: Option<String>,
    /// Name of the snapshot; a number if left out.
    label: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Name of the snapshot.
    snapshot: String,
}

impl SandboxTool for Snapshot {
    const NAME: &'static str = "sandbox_snapshot";
    const TITLE: &'static str = "Take a snapshot";
    const DESCRIPTION: &'static str = "Keeps the present files of a sandbox, in constant time, for \
        sandbox_rollback, sandbox_fork and sandbox_diff.";
    const EFFECT: Effect = Effect::ADDS;
    type Arguments = Arguments;
    type Output = Output;

    async fn run(session: &Session, call: &Call, arguments: Arguments) -> Result<Output, Stop> {
        let sandbox = session.sandbox(call, arguments.name.as_deref()).await?;
        let mut options = SnapshotOptions::default();
        options.name = arguments.label;
        let taken = call
            .awaited(sandbox.snapshots().create_with(options))
            .await?;
        Ok(Output {
            snapshot: taken.name,
        })
    }
}
