//! Work in the background, as `git maintenance` does on a repository: on a disk's generations digests of what
//! snapshots have, and merging; on the store of images the packing of layers that were not used for a while.
//!
//! A process of its own does it: nobody waits for it, and it goes on when this process has ended.

use std::process::Stdio;
use std::time::Duration;

use image_store::Store;
use image_store::layout::Layout;
use msb_runtime::Sandbox as StoredSandbox;
use msb_sandbox_snapshots::{SandboxSnapshots, SnapshotError};
use tokio::process::Command;

use crate::operation::blocking;
use crate::shared::Shared;
use crate::{Error, Maintenance, PackAfter};

/// The subcommand of `msb` that maintains a sandbox's snapshots, or without a sandbox the store of images.
const MAINTAIN_COMMAND: &str = "__maintain";
/// The subcommand of `msb` that reads the sources of a sandbox's secrets again.
const SECRETS_COMMAND: &str = "__secrets";

/// The longest time between two looks for layers to pack.
const IMAGES_INTERVAL: Duration = Duration::from_secs(3600);

impl Shared {
    /// Begins to pack layers that were not used for a while, and to keep cache files below their limit, unless that
    /// was begun a while ago.
    pub async fn maintain_images(&self) {
        let settings = self.settings();
        if settings.maintenance.unwrap_or_default() == Maintenance::Off {
            return;
        }
        let pack = settings.pack.unwrap_or_default();
        let interval = pack.duration().unwrap_or(IMAGES_INTERVAL);
        let interval = interval.min(IMAGES_INTERVAL);
        let store = Store {
            layout: Layout::new(self.home().root()),
        };
        let begins = move || Ok::<_, Error>(store.begins_maintenance(interval));
        // It saves space, so that a failure concerns nobody.
        if matches!(blocking(begins).await, Ok(true)) {
            let _ = self.begin_image_maintenance(pack).await;
        }
    }

    async fn begin_image_maintenance(&self, pack: PackAfter) -> Result<(), Error> {
        let mut command = Command::new(self.program().await?);
        command.arg("--home").arg(self.home().root());
        command.arg(MAINTAIN_COMMAND);
        command.env_clear().process_group(0).current_dir("/");
        let cache_bytes = self.settings().pack_cache().bytes();
        command.env("MSB_PACK", pack.to_string());
        command.env("MSB_PACK_CACHE", cache_bytes.to_string());
        detached(command)
    }

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
