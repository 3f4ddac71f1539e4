//! Work on a disk's generations in the background, as `git maintenance` does on a repository: digests of what
//! snapshots have, and merging.
//!
//! A process of its own does it: nobody waits for it, and it goes on when this process has ended.

use std::process::Stdio;

use msb_runtime::Sandbox as StoredSandbox;
use msb_sandbox_snapshots::{SandboxSnapshots, SnapshotError};
use tokio::process::Command;

use crate::operation::blocking;
use crate::shared::Shared;
use crate::{Error, Maintenance};

/// The subcommand of `msb` that maintains a sandbox's snapshots.
const MAINTAIN_COMMAND: &str = "__maintain";
/// The subcommand of `msb` that reads the sources of a sandbox's secrets again.
const SECRETS_COMMAND: &str = "__secrets";

impl Shared {
    /// Begins to take the digest of a snapshot that was just taken, and to merge if there are many generations.
    pub async fn maintain_after_snapshot(&self, sandbox: &StoredSandbox) {
        self.maintain_if(sandbox, |_| Ok(true)).await;
    }

    /// Does the same after the snapshot before a command, unless a process does so already: it sees this
    /// snapshot, too. There may be many commands in a second.
    pub async fn maintain_after_command(&self, sandbox: &StoredSandbox) {
        self.maintain_if(sandbox, |sandbox| Ok(!sandbox.takes_digests()?))
            .await;
    }

    /// Begins to merge if a disk that was just cut has many generations.
    pub(crate) async fn maintain_after_cut(&self, sandbox: &StoredSandbox) {
        self.maintain_if(sandbox, SandboxSnapshots::has_many_generations_after_cut)
            .await;
    }

    /// Begins to merge if a disk has many generations, of which a snapshot was just removed.
    pub async fn maintain_after_removal(&self, sandbox: &StoredSandbox) {
        self.maintain_if(sandbox, SandboxSnapshots::has_many_generations)
            .await;
    }

    async fn maintain_if(
        &self,
        sandbox: &StoredSandbox,
        is_needed: fn(&SandboxSnapshots) -> Result<bool, SnapshotError>,
    ) {
        if self.settings().maintenance.unwrap_or_default() == Maintenance::Off {
            return;
        }
        let looked_at = SandboxSnapshots::new(sandbox.clone());
        // What was asked for is done. What does not begin here, `msb snapshot verify` and `msb snapshot prune` do,
        // and tell why they cannot.
        if matches!(blocking(move || is_needed(&looked_at)).await, Ok(true)) {
            let _ = self.begin_maintenance(sandbox).await;
        }
    }

    /// Begins to read the sources of a running sandbox's secrets again before their values expire. If that does not
    /// begin, the values expire, and requests that need them fail.
    pub async fn begin_refresh(&self, sandbox: &StoredSandbox) {
        if let Ok(program) = self.program().await {
            let mut command = Command::new(program);
            command.arg("--home").arg(self.home().root());
            command.arg(SECRETS_COMMAND).arg(sandbox.directory());
            // Commands of the host run in the environment and the directory of the first ones, without values.
            for variable in msb_sandbox_secrets::variables(&sandbox.spec) {
                command.env_remove(variable);
            }
            command.process_group(0);
            let _ = detached(command);
        }
    }

    async fn begin_maintenance(&self, sandbox: &StoredSandbox) -> Result<(), Error> {
        let mut command = Command::new(self.program().await?);
        command.arg("--home").arg(self.home().root());
        command.arg(MAINTAIN_COMMAND).arg(sandbox.spec.id.as_str());
        // The caller's directory may be on a disk that is unmounted next.
        command.env_clear().process_group(0).current_dir("/");
        detached(command)
    }
}

/// Starts a process that goes on when this one has ended.
fn detached(mut command: Command) -> Result<(), Error> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // The runtime waits for the process when it ends, so that it leaves no zombie.
    command.spawn().map(drop).map_err(Error::from)
}
