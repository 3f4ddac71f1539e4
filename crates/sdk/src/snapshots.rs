//! Snapshots of sandboxes.

use std::sync::Arc;
use std::time::Duration;

use msb_cancellation::Effect;
use msb_client::{Shared, blocking};
use msb_runtime::Sandbox as StoredSandbox;
use msb_sandbox_handle::{Handle, record_rollback, record_snapshot};
use msb_sandbox_snapshots::{
    RollBackRunning, SandboxSnapshots, Snapshot, SnapshotConsistency, SnapshotDraft, SnapshotError,
    SnapshotName,
};
use serde::{Deserialize, Serialize};

use crate::{Error, Files, Operation, RolledBack};

/// The options of a new snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SnapshotOptions {
    /// The name; its number if `None`.
    pub name: Option<String>,
    /// A note.
    pub message: Option<String>,
    /// True if the guest of a running sandbox freezes its filesystem meanwhile, so that everything that
    /// was written is in the snapshot. Otherwise it has what was synced.
    pub freeze: bool,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        Self {
            name: None,
            message: None,
            freeze: true,
        }
    }
}

/// The reason for which a snapshot was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SnapshotOrigin {
    /// A user asked for it.
    #[default]
    User,
    /// The files before a rollback.
    Rollback,
    /// The files before a command.
    Command,
}

impl SnapshotOrigin {
    /// Returns the word that JSON has for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Rollback => "rollback",
            Self::Command => "command",
        }
    }

    const fn of(snapshot: &Snapshot) -> Self {
        match (snapshot.command, snapshot.is_automatic) {
            (Some(_), _) => Self::Command,
            (None, true) => Self::Rollback,
            (None, false) => Self::User,
        }
    }
}

/// The progress of a rollback of a running sandbox.
#[derive(Debug)]
pub(crate) enum Progress {
    /// It is made.
    Done(RolledBack),
    /// The sandbox has to be stopped for it; what the disk had before may be kept already.
    Stop {
        begun: Option<msb_sandbox_snapshots::RolledBack>,
    },
}

/// Describes a rollback that was just made, and records it.
fn described(stored: &StoredSandbox, rolled: msb_sandbox_snapshots::RolledBack) -> RolledBack {
    RolledBack {
        unrecorded: record_rollback(stored, &rolled),
        to: SnapshotInfo::new(stored, rolled.to),
        kept: SnapshotInfo::new(stored, rolled.kept),
        restarted: false,
        booted: false,
        notices: Vec::new(),
    }
}

/// The description of a snapshot, with the keys of `msb snapshot inspect`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SnapshotInfo {
    /// The name of the sandbox.
    pub sandbox: String,
    /// The name, unique in the sandbox.
    pub name: String,
    /// The number: a later snapshot of the sandbox has a higher one.
    pub number: u64,
    /// The creation time, in seconds since the epoch.
    pub created_s: u64,
    /// The user's note.
    pub message: Option<String>,
    /// True if msb took the snapshot by itself: before a rollback or a command.
    pub automatic: bool,
    /// The reason for which the snapshot was taken.
    #[serde(default)]
    pub origin: SnapshotOrigin,
    /// The number of the command in the history that the snapshot was taken before; `None` if it was not taken
    /// for a command.
    #[serde(default)]
    pub command: Option<u64>,
    /// The state of the filesystem at the moment of the snapshot.
    pub consistency: SnapshotConsistency,
    /// The size of the disk, in bytes.
    pub size_bytes: u64,
    /// The digest of the manifest of the sandbox's image.
    pub image_digest: String,
}

/// The result of verifying a snapshot, with the keys of `msb snapshot verify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VerifiedSnapshot {
    /// The name of the sandbox.
    pub sandbox: String,
    /// The name of the snapshot.
    pub name: String,
    /// The state of its content.
    pub content: SnapshotContent,
    /// The first fault that was found; `None` if it is not damaged.
    pub problem: Option<String>,
}

/// The state of a snapshot's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SnapshotContent {
    /// All of it is what was recorded.
    Intact,
    /// A part had no digest yet; it has one since this verification.
    Recorded,
    /// A part is missing or is not what was recorded.
    Damaged,
}

impl VerifiedSnapshot {
    fn new(sandbox: &StoredSandbox, verified: msb_sandbox_snapshots::VerifiedSnapshot) -> Self {
        let (content, problem) = match verified.content {
            Ok(msb_sandbox_snapshots::SnapshotContent::Intact) => (SnapshotContent::Intact, None),
            Ok(msb_sandbox_snapshots::SnapshotContent::Recorded) => {
                (SnapshotContent::Recorded, None)
            }
            Err(error) => (SnapshotContent::Damaged, Some(msb_client::line(&*error))),
        };
        Self {
            sandbox: sandbox.spec.name.clone(),
            name: verified.name.to_string(),
            content,
            problem,
        }
    }
}

impl SnapshotInfo {
    fn new(sandbox: &StoredSandbox, snapshot: Snapshot) -> Self {
        Self {
            sandbox: sandbox.spec.name.clone(),
            name: snapshot.name.to_string(),
            number: snapshot.number,
            created_s: snapshot.created_s,
            automatic: snapshot.is_automatic,
            origin: SnapshotOrigin::of(&snapshot),
            command: snapshot.command,
            message: snapshot.message,
            consistency: snapshot.consistency,
            size_bytes: snapshot.size_bytes,
            image_digest: snapshot.image_digest,
        }
    }
}

/// The snapshots of a sandbox's files. They are taken, read, verified, removed and merged while the
/// sandbox runs or not.
///
/// ```no_run
/// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
/// sandbox.snapshots().create(Some("clean"), None).await?;
/// for snapshot in sandbox.snapshots().list().await? {
///     println!("{}@{}", snapshot.sandbox, snapshot.name);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Snapshots {
    handle: Arc<Handle>,
}

impl Snapshots {
    pub(crate) const fn new(handle: Arc<Handle>) -> Self {
        Self { handle }
    }

    pub(crate) fn handle(&self) -> Arc<Handle> {
        Arc::clone(&self.handle)
    }

    /// Takes a snapshot of the sandbox's files, in constant time. Without a name it gets its number.
    /// Volumes and host directories are not part of it.
    ///
    /// # Errors
    /// Fails as [`create_with`](Self::create_with) does.
    pub fn create(&self, name: Option<&str>, message: Option<&str>) -> Operation<SnapshotInfo> {
        self.create_with(SnapshotOptions {
            name: name.map(str::to_owned),
            message: message.map(str::to_owned),
            ..SnapshotOptions::default()
        })
    }

    /// Takes a snapshot of the sandbox's files with these options. The guest of a running sandbox freezes
    /// its filesystem meanwhile; if it does not, the snapshot is as after a power cut, and says so.
    ///
    /// # Errors
    /// [`NameTaken`](crate::ErrorKind::NameTaken), and
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub fn create_with(&self, options: SnapshotOptions) -> Operation<SnapshotInfo> {
        self.handle
            .change(Effect::Slight, move |handle| async move {
                let name = options.name.map(|name| name.parse::<SnapshotName>());
                let draft = SnapshotDraft {
                    name: name.transpose()?,
                    message: options.message,
                };
                handle.shared().ready().await?;
                let stored = handle.stored();
                match SandboxSnapshots::new(stored.clone())
                    .take_snapshot(draft, options.freeze)
                    .await
                {
                    Ok(taken) => {
                        record_snapshot(&stored, taken.name.to_string()).await;
                        handle.shared().maintain_after_snapshot(&stored).await;
                        Ok(SnapshotInfo::new(&stored, taken))
                    }
                    Err(error) => Err(handle.shared().in_home(error.into())),
                }
            })
    }

    /// Returns the snapshots, the oldest first.
    ///
    /// # Errors
    /// If they cannot be read, or the record of one is damaged.
    pub fn list(&self) -> Operation<Vec<SnapshotInfo>> {
        self.of_stored(|stored| {
            let each = SandboxSnapshots::new(stored.clone())
                .snapshots()?
                .into_iter();
            each.map(|one| Ok(SnapshotInfo::new(stored, one?)))
                .collect()
        })
    }

    /// Returns the snapshots, the oldest first, and the error of each whose record is damaged.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn list_each(&self) -> Operation<Vec<Result<SnapshotInfo, Error>>> {
        self.of_stored(|stored| {
            let each = SandboxSnapshots::new(stored.clone())
                .snapshots()?
                .into_iter();
            let each = each.map(|one| Ok(SnapshotInfo::new(stored, one?)));
            Ok(each.collect())
        })
    }

    /// Returns the snapshot with this name.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound).
    pub fn get(&self, name: &str) -> Operation<SnapshotInfo> {
        self.find(Some(name))
    }

    /// Returns the files as they are in a snapshot. They can be read, while the sandbox runs too.
    ///
    /// ```no_run
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// let before = sandbox.snapshots().files("clean").read("/etc/motd").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn files(&self, name: &str) -> Files {
        Files::of_snapshot(Arc::clone(&self.handle), name)
    }

    /// Removes a snapshot. The sandbox's files stay as they are.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound).
    pub fn remove(&self, name: &str) -> Operation<()> {
        let name = name.to_owned();
        let removed = self.of_stored(move |stored| {
            Ok(SandboxSnapshots::new(stored.clone()).remove_snapshot(&name)?)
        });
        self.handle
            .change(Effect::Slight, move |handle| async move {
                removed.await?;
                handle
                    .shared()
                    .maintain_after_removal(&handle.stored())
                    .await;
                Ok(())
            })
    }

    /// Reads a snapshot as a whole and compares it with its digest; without a
    /// name all snapshots. A process in the background takes the digest soon after the snapshot
    /// ([`Maintenance`](crate::Maintenance)); content that has none yet gets it, and a byte of it that changes later
    /// is found by the next verification.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound). Damage is a result.
    pub fn verify(&self, name: Option<&str>) -> Operation<Vec<VerifiedSnapshot>> {
        let names: Vec<String> = name.into_iter().map(str::to_owned).collect();
        self.of_stored(move |stored| {
            let verified = SandboxSnapshots::new(stored.clone())
                .verify_snapshots(&names)?
                .into_iter();
            Ok(verified
                .map(|one| VerifiedSnapshot::new(stored, one))
                .collect())
        })
    }

    /// Merges parts of the sandbox's disk, running or not, that no snapshot needs apart, and returns the
    /// number of bytes that this frees. Neither the files nor a snapshot change.
    ///
    /// # Errors
    /// [`OutOfSpace`](crate::ErrorKind::OutOfSpace): merging copies.
    pub fn merge(&self) -> Operation<u64> {
        self.handle
            .change(Effect::Slight, move |handle| async move {
                let merged = SandboxSnapshots::new(handle.stored())
                    .merge_generations()
                    .await;
                merged.map_err(|error| handle.shared().in_home(error.into()))
            })
    }

    /// Does what is done in the background, unless another process does it: after a delay, removes the snapshots
    /// of old commands, merges if that makes many parts fewer, and takes missing digests.
    ///
    /// # Errors
    /// The first error of them; the others are done all the same.
    #[doc(hidden)]
    pub fn maintain(&self, delay: Duration) -> Operation<()> {
        let snapshots = self.clone();
        Operation::new(async move {
            let runtime = tokio::runtime::Handle::current();
            let maintained = snapshots.of_stored(move |stored| {
                let snapshots = SandboxSnapshots::new(stored.clone());
                let mut outcomes = Vec::new();
                let maintained = snapshots.maintain(delay, || {
                    let merged = runtime.block_on(snapshots.merge_many_generations());
                    outcomes.push(merged.map(drop));
                });
                outcomes.push(maintained);
                Ok(outcomes.into_iter().collect::<Result<(), _>>()?)
            });
            maintained.await
        })
    }

    /// Returns the snapshot with this name; the newest one without a name.
    pub(crate) fn find(&self, name: Option<&str>) -> Operation<SnapshotInfo> {
        let name = name.map(str::to_owned);
        self.of_stored(move |stored| {
            Ok(SnapshotInfo::new(
                stored,
                SandboxSnapshots::new(stored.clone()).snapshot(name.as_deref())?,
            ))
        })
    }

    /// Makes the stopped sandbox's files those of a snapshot.
    pub(crate) fn rollback(&self, name: Option<&str>) -> Operation<RolledBack> {
        let name = name.map(str::to_owned);
        self.of_stored(move |stored| {
            Ok(described(
                stored,
                SandboxSnapshots::new(stored.clone()).roll_back(name.as_deref())?,
            ))
        })
    }

    /// Makes the running sandbox's files those of a snapshot, while its machine stays up.
    pub(crate) fn rollback_running(
        &self,
        name: Option<&str>,
        grace: Option<Duration>,
    ) -> Operation<Progress> {
        let (handle, name) = (Arc::clone(&self.handle), name.map(str::to_owned));
        Operation::new(async move {
            let stored = handle.stored();
            Ok(
                match SandboxSnapshots::new(stored.clone())
                    .roll_back_running(name.as_deref(), grace)
                    .await
                {
                    Ok(RollBackRunning::Done(rolled)) => {
                        let describing = move || Ok::<_, Error>(described(&stored, rolled));
                        Progress::Done(RolledBack {
                            restarted: true,
                            ..blocking(describing).await?
                        })
                    }
                    Ok(RollBackRunning::Stop { begun, .. }) => Progress::Stop { begun },
                    // It needs another disk, has ended meanwhile, or its process does not answer.
                    Ok(RollBackRunning::OtherStaged) | Err(SnapshotError::Connect(_)) => {
                        Progress::Stop { begun: None }
                    }
                    Err(error) => return Err(error.into()),
                },
            )
        })
    }

    /// Ends a rollback of a sandbox that has stopped since.
    pub(crate) fn end_rollback(
        &self,
        begun: msb_sandbox_snapshots::RolledBack,
    ) -> Operation<RolledBack> {
        self.of_stored(move |stored| {
            SandboxSnapshots::new(stored.clone()).end_roll_back(&begun)?;
            Ok(described(stored, begun))
        })
    }

    /// Runs work on the sandbox in the home, which blocks.
    fn of_stored<T: Send + 'static>(
        &self,
        work: impl FnOnce(&StoredSandbox) -> Result<T, Error> + Send + 'static,
    ) -> Operation<T> {
        let handle = Arc::clone(&self.handle);
        Operation::new(async move {
            handle.settled().await;
            let stored = handle.stored();
            let work = move |_: &Shared| work(&stored);
            handle.shared().with_home(work).await
        })
    }
}
