//! Sandboxes: created, started, found, stopped and removed.

mod beginning;
mod changes;
mod commands;
mod create;
mod filter;
mod fork;
mod info;
mod name_pattern;
mod options;
mod pause;
mod request;
mod rollback;
mod root_disk;
mod run;
mod sandbox;
mod spec;
mod start;
mod trust;

use std::sync::Arc;

use msb_client::Shared;
use msb_runtime::Sandbox as StoredSandbox;

pub use changes::Changes;
pub use filter::{SandboxCondition, SandboxFilter};
pub use fork::{BranchOptions, ForkOptions};
pub use info::{MainCommand, SandboxInfo, SandboxState};
pub use name_pattern::NamePattern;
pub use options::{CopyIn, HostName, NewDirectory, SandboxOptions, StartOptions, Verify};
pub use request::SandboxRequest;
pub use rollback::{RollbackOptions, RolledBack};
pub use root_disk::RootDisk;
pub use sandbox::Sandbox;

pub(crate) use spec::resources;
pub(crate) use start::missing_image;

use crate::{Error, ErrorKind, Force, Operation, Removal, StatsSample};

/// The sandboxes of one home.
#[derive(Debug, Clone)]
pub struct Sandboxes {
    shared: Arc<Shared>,
}

impl Sandboxes {
    pub(crate) const fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Creates a sandbox of an image and starts it. The handle owns the sandbox: it is removed when
    /// the handle is closed or dropped.
    ///
    /// Without a [`command`](SandboxRequest::command) it runs none, and lives until it ends with its
    /// handle.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let sandbox = msb.sandboxes().run("alpine").memory("512M").await?;
    /// let output = sandbox.exec(["echo", "hello"]).await?;
    /// assert_eq!(output.text(), "hello\n");
    /// sandbox.close().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails as [`Images::pull`](crate::Images::pull) does, and with
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument),
    /// [`NameTaken`](crate::ErrorKind::NameTaken), [`PortInUse`](crate::ErrorKind::PortInUse),
    /// [`VolumeInUse`](crate::ErrorKind::VolumeInUse), or one of
    /// [`StartError`](crate::ErrorKind::StartError). Nothing is left of the sandbox then, and
    /// neither if the operation is dropped.
    pub fn run(&self, image: impl Into<String>) -> SandboxRequest {
        SandboxRequest::new(Arc::clone(&self.shared), image.into(), true)
    }

    /// Creates and starts an owned sandbox with these options.
    ///
    /// # Errors
    /// Fails as [`run`](Self::run) does.
    pub fn run_with(&self, options: SandboxOptions) -> Operation<Sandbox> {
        run::run(Arc::clone(&self.shared), options, (None, None), true)
    }

    /// Creates a sandbox of an image, which is kept and not started.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let sandbox = msb.sandboxes().create("debian").name("work").await?;
    /// sandbox.start().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails as [`run`](Self::run) does before the start.
    pub fn create(&self, image: impl Into<String>) -> SandboxRequest {
        SandboxRequest::new(Arc::clone(&self.shared), image.into(), false)
    }

    /// Creates a sandbox with these options, which is kept and not started.
    ///
    /// # Errors
    /// Fails as [`create`](Self::create) does.
    pub fn create_with(&self, options: SandboxOptions) -> Operation<Sandbox> {
        run::create(Arc::clone(&self.shared), options, (None, None))
    }

    /// Returns a handle of the sandbox with this name or id, or the beginning of its id alone. The
    /// handle owns nothing.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let sandbox = msb.sandboxes().get("work").await?;
    /// # let _ = sandbox;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SandboxNotFound`](crate::ErrorKind::SandboxNotFound).
    pub fn get(&self, name: impl Into<String>) -> Operation<Sandbox> {
        let (shared, name) = (Arc::clone(&self.shared), name.into());
        Operation::new(async move {
            let stored = shared.with_home(move |shared| find(shared, &name)).await?;
            Ok(Sandbox::kept(shared, stored, Vec::new()))
        })
    }

    /// Returns the sandboxes that a filter selects, oldest first, and before them those whose
    /// descriptions cannot be read.
    ///
    /// ```no_run
    /// use msb_sdk::{SandboxFilter, SandboxState};
    ///
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let running = SandboxFilter::all().state(SandboxState::Running);
    /// for info in msb.sandboxes().list(running).await? {
    ///     println!("{} {}", info.name, info.image);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the sandboxes cannot be read.
    pub fn list(&self, filter: SandboxFilter) -> Operation<Vec<SandboxInfo>> {
        let shared = Arc::clone(&self.shared);
        Operation::new(async move {
            let found = shared
                .with_home(move |shared| list(shared, &filter))
                .await?;
            let mut infos = Vec::new();
            for (stored, mut info) in found {
                if let Some(stored) = stored {
                    info.ask_disk_errors(&stored).await;
                }
                infos.push(info);
            }
            Ok(infos)
        })
    }

    /// Removes those of the sandboxes with these names or ids that do not run, with their disks.
    /// The result leaves out sandboxes that run or no longer exist.
    ///
    /// # Errors
    /// If the sandboxes cannot be read. The failure of one is in its [`Removal`].
    pub fn remove_stopped<T: Into<String>>(
        &self,
        names: impl IntoIterator<Item = T>,
    ) -> Operation<Vec<Removal>> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let shared = Arc::clone(&self.shared);
        Operation::new(async move {
            let work = move |shared: &Shared| msb_sandbox_handle::remove_stopped(shared, &names);
            shared.with_home(work).await
        })
    }

    /// Removes the sandbox with this name or id if its description cannot be read, with its disks.
    /// Returns false, and removes nothing, if there is no such sandbox.
    ///
    /// # Errors
    /// [`SandboxRunning`](crate::ErrorKind::SandboxRunning) without [`Force::Yes`]; or if it cannot be
    /// killed or removed.
    pub fn remove_unreadable(&self, name: impl Into<String>, force: Force) -> Operation<bool> {
        let (shared, name) = (Arc::clone(&self.shared), name.into());
        Operation::new(async move {
            let work =
                move |shared: &Shared| msb_sandbox_handle::remove_unreadable(shared, &name, force);
            shared.with_home(work).await
        })
    }

    /// Samples the statistics of these sandboxes at the same time; of all that run if `None`.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let earlier = msb.sandboxes().sample_stats(None).await?;
    /// tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    /// for stats in msb.sandboxes().sample_stats(None).await?.since(&earlier) {
    ///     println!("{} {}%", stats.name, stats.cpu_percent);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the sandboxes cannot be read. The failures of some are in the sample.
    pub fn sample_stats(&self, sandboxes: Option<&[Sandbox]>) -> Operation<StatsSample> {
        let stored = sandboxes.map(|sandboxes| sandboxes.iter().map(Sandbox::stored).collect());
        msb_sandbox_handle::sample_several(Arc::clone(&self.shared), stored)
    }
}

/// Returns the sandbox with this name or id.
fn find(shared: &Shared, name: &str) -> Result<StoredSandbox, Error> {
    let found = StoredSandbox::find(shared.home(), name)?;
    found.ok_or_else(|| not_found(name))
}

fn list(
    shared: &Shared,
    filter: &SandboxFilter,
) -> Result<Vec<(Option<StoredSandbox>, SandboxInfo)>, Error> {
    StoredSandbox::sweep(shared.home())?;
    let listing = StoredSandbox::list(shared.home())?;
    let unreadable = listing.unreadable.iter();
    let unreadable = unreadable.filter(|sandbox| filter.holds_unreadable(sandbox));
    let mut found: Vec<_> = unreadable
        .map(|sandbox| (None, SandboxInfo::of_unreadable(sandbox)))
        .collect();
    for sandbox in listing.sandboxes {
        let condition = sandbox.condition()?;
        if filter.holds(&sandbox, &condition) {
            let info = SandboxInfo::read(&sandbox, condition)?;
            found.push((Some(sandbox), info));
        }
    }
    Ok(found)
}

/// Returns the error of a name that no sandbox has.
/// Returns the error of a new sandbox whose lock was given away already.
fn no_lock() -> Error {
    Error::internal("the new sandbox cannot be locked")
}

fn not_found(name: &str) -> Error {
    let name = msb_client::printable(name);
    Error::new(
        ErrorKind::SandboxNotFound,
        format!("no such sandbox: {name}"),
    )
    .with_detail("name", name)
}
