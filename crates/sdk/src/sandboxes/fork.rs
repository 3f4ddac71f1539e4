//! Forks of a sandbox.

use std::sync::Arc;

use msb_cancellation::Effect;
use msb_client::Shared;
use msb_runtime::network::Publish;
use msb_sandbox_snapshots::SandboxSnapshots;
use serde::{Deserialize, Serialize};

use super::Sandbox;
use super::create::Created;
use super::run::start_created;
use crate::{Error, Notice, Operation, StartOptions};

/// The options of forks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ForkOptions {
    /// The names of the forks, of which one is made for each; if there are none, one is made whose name is
    /// its id.
    pub names: Vec<String>,
    /// The snapshot that the forks begin with; the files as they are now if `None`.
    pub snapshot: Option<String>,
    /// True if the guest of a running sandbox freezes its filesystem meanwhile.
    pub freeze: bool,
}

impl Default for ForkOptions {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            snapshot: None,
            freeze: true,
        }
    }
}

/// The options of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct BranchOptions {
    /// The name of the branch; its id if `None`.
    pub name: Option<String>,
    /// The snapshot that the branch begins with; the files as they are now if `None`.
    pub snapshot: Option<String>,
    /// True if the guest of a running sandbox freezes its filesystem meanwhile.
    pub freeze: bool,
    /// The parameters of the start.
    pub start: StartOptions,
}

impl Default for BranchOptions {
    fn default() -> Self {
        Self {
            name: None,
            snapshot: None,
            freeze: true,
            start: StartOptions::default(),
        }
    }
}

impl BranchOptions {
    /// Sets the name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the snapshot that the branch begins with.
    #[must_use]
    pub fn snapshot(mut self, snapshot: impl Into<String>) -> Self {
        self.snapshot = Some(snapshot.into());
        self
    }
}

impl Sandbox {
    /// Starts a fork, which the result owns: it is ended and removed with its last handle, as a sandbox of
    /// [`Sandboxes::run`](crate::Sandboxes::run) is. It has the options of this sandbox, as a [`fork`](Self::fork)
    /// has them.
    ///
    /// ```no_run
    /// use msb_sdk::BranchOptions;
    ///
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// let attempt = sandbox.branch(BranchOptions::default().snapshot("ready")).await?;
    /// attempt.shell("make test").await?;
    /// attempt.close().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`fork`](Self::fork) and of [`start`](Self::start). A branch that fails or is cancelled is
    /// removed.
    pub fn branch(&self, options: BranchOptions) -> Operation<Self> {
        let handle = self.handle();
        Operation::new(async move {
            let (name, start) = (options.name, options.start);
            let forking = handle.change(Effect::Slight, move |handle| async move {
                let shared = Arc::clone(handle.shared());
                shared.ready().await?;
                let stored = handle.stored();
                let origin = SandboxSnapshots::new(stored.clone())
                    .origin(options.snapshot, options.freeze)
                    .await;
                let origin = origin.map_err(|error| shared.in_home(error.into()))?;
                let owner = Arc::clone(&shared);
                let forking = shared.with_home(move |shared| {
                    let forked = origin.fork(shared.home(), &[name])?;
                    let notices: Vec<Notice> = forked.unpublished.iter().map(unpublished).collect();
                    let fork = forked.sandboxes.into_iter().next();
                    // Dropped, as the result of a cancelled call is, it removes the fork.
                    Ok::<_, Error>(fork.map(|fork| Created::of_fork(owner, fork, notices)))
                });
                forking.await?.ok_or_else(super::no_lock)
            });
            let mut created = forking.await?;
            let window = start.window;
            let preparing = {
                let start = start.clone();
                move |_: &Shared| created.prepare(&start).map(|()| created)
            };
            let created = handle.shared().with_home(preparing).await?;
            start_created(handle.shared(), created, &start, window, true).await
        })
    }

    /// Makes sandboxes that begin with the files of this one, running or not, and share them until they
    /// are written: each costs some kilobytes. They are not started, and kept when they stop. They have the
    /// options of this one, an id and a hostname of their own, empty volumes where it has some without a
    /// name, and none of the ports of the host that it was given.
    ///
    /// ```no_run
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// let mut options = msb_sdk::ForkOptions::default();
    /// options.names = ["try-1", "try-2"].map(str::to_owned).into();
    /// for fork in sandbox.fork(options).await? {
    ///     fork.start().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`NameTaken`](crate::ErrorKind::NameTaken),
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), and
    /// [`NotFound`](crate::ErrorKind::NotFound) for a snapshot. Nothing is left of the forks then.
    pub fn fork(&self, options: ForkOptions) -> Operation<Vec<Self>> {
        self.handle()
            .change(Effect::Slight, move |handle| async move {
                let shared = handle.shared().clone();
                shared.ready().await?;
                let stored = handle.stored();
                let origin = SandboxSnapshots::new(stored.clone())
                    .origin(options.snapshot, options.freeze)
                    .await;
                let origin = origin.map_err(|error| shared.in_home(error.into()))?;
                let names: Vec<_> = if options.names.is_empty() {
                    vec![None]
                } else {
                    options.names.into_iter().map(Some).collect()
                };
                let forking = shared.with_home(move |shared| origin.fork(shared.home(), &names));
                let forked = forking.await?;
                let notices: Vec<Notice> = forked.unpublished.iter().map(unpublished).collect();
                let forks = forked.sandboxes.into_iter();
                let forks = forks.map(|fork| Self::kept(shared.clone(), fork, notices.clone()));
                Ok(forks.collect())
            })
    }
}

fn unpublished(publish: &Publish) -> Notice {
    let message = format!("a fork does not publish port {publish}, because its source uses it");
    Notice::new("port", message)
}
