//! Merging of a disk's generations in the background, as git packs a repository's objects.
//!
//! A process of its own does it once there are many that no snapshot needs apart: nobody waits for it, and
//! it goes on when this process has ended.

use std::process::Stdio;

use msb_runtime::{Sandbox as StoredSandbox, SnapshotError};
use tokio::process::Command;

use crate::Error;
use crate::operation::blocking;
use crate::shared::Shared;

/// The subcommand of `msb` that merges.
const MERGE_COMMAND: &str = "__merge";

impl Shared {
    /// Begins to merge if a disk that was just cut has many generations.
    pub(crate) async fn merge_after_cut(&self, sandbox: &StoredSandbox) {
        self.merge_if(sandbox, StoredSandbox::has_many_generations_after_cut)
            .await;
    }

    /// Begins to merge if a disk has many generations, of which a snapshot was just removed.
    pub(crate) async fn merge_after_removal(&self, sandbox: &StoredSandbox) {
        self.merge_if(sandbox, StoredSandbox::has_many_generations)
            .await;
    }

    async fn merge_if(
        &self,
        sandbox: &StoredSandbox,
        has_many: fn(&StoredSandbox) -> Result<bool, SnapshotError>,
    ) {
        let looked_at = sandbox.clone();
        // What was asked for is done. A merge that does not begin costs space, and `msb snapshot prune`
        // tells why.
        if matches!(blocking(move || has_many(&looked_at)).await, Ok(true)) {
            let _ = self.begin_merge(sandbox).await;
        }
    }

    async fn begin_merge(&self, sandbox: &StoredSandbox) -> Result<(), Error> {
        let mut command = Command::new(self.program().await?);
        command.arg("--home").arg(self.home().root());
        command.arg(MERGE_COMMAND).arg(sandbox.spec.id.as_str());
        command.env_clear().process_group(0);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // The runtime waits for the process when it ends, so that it leaves no zombie.
        command.spawn().map(drop).map_err(Error::from)
    }
}
