//! The state that all clones of a client share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use diagnosis::Hint;
use image_store::Store;
use msb_cancellation::{Cleanups, Unfinished};
use msb_machine_records::Timeline;
use msb_runtime::{Home, ImageUsers, Sandbox as StoredSandbox};
use msb_sandbox_files::SandboxAtRest;
use oci_layers::{Limit, Limits};
use tokio::sync::OnceCell;

use crate::operation::blocking;
use crate::program::{self, Refusal};
use crate::{Error, ErrorKind, Notice, Settings};

/// The state that all clones of a client share.
#[derive(Debug)]
pub struct Shared {
    home: Home,
    settings: Settings,
    timeline: Timeline,
    /// The program whose version was checked.
    program: OnceCell<PathBuf>,
    /// The refusal of a program of another build, which is not started again.
    refused: OnceLock<Refusal>,
    /// True once the home has been closed to other users.
    is_closed: OnceCell<()>,
    /// Removals that no operation waits for.
    cleanups: Cleanups,
    /// Changes of sandboxes that no operation waits for.
    unfinished: Unfinished,
    /// Notices of the client itself, until an operation returns them.
    notices: Mutex<Vec<Notice>>,
}

impl Shared {
    /// Returns the state of a client with these complete settings.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let mut limits = Limits::default();
        // A setting that cannot be used is refused by the operations on images.
        let _ = settings.limits.as_deref().map(|set| limits.set(set));
        let home = Home::new(settings.home_path()?);
        let cleanups = Cleanups::default();
        Ok(Self {
            home: home.with_disk_metadata_limit(limits.get(Limit::DiskMetadata)),
            timeline: Timeline::open(settings.timeline.as_deref())?,
            settings,
            program: OnceCell::new(),
            refused: OnceLock::new(),
            is_closed: OnceCell::new(),
            unfinished: Unfinished::new(cleanups.clone()),
            cleanups,
            notices: Mutex::default(),
        })
    }

    /// Returns the home, which holds all of msb's data.
    pub const fn home(&self) -> &Home {
        &self.home
    }

    /// Returns the complete settings.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the removals that no operation waits for.
    pub const fn cleanups(&self) -> &Cleanups {
        &self.cleanups
    }

    /// Returns the changes of sandboxes that no operation waits for.
    pub const fn unfinished(&self) -> &Unfinished {
        &self.unfinished
    }

    /// Returns the file in which the stages of starts are recorded.
    pub const fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Makes the home inaccessible to other users of the host, once for each client.
    pub async fn ready(&self) -> Result<(), Error> {
        let closing = self.is_closed.get_or_try_init(|| async {
            let home = self.home.clone();
            let mode = blocking(move || home.close()).await?;
            if let Some(mode) = mode {
                let home = self.home.root().display();
                let message = format!(
                    "other users of this host could enter {home} (mode {mode:03o}); it is now closed to them"
                );
                self.note(Notice::new("home-closed", message));
            }
            Ok::<_, Error>(())
        });
        closing.await.copied()
    }

    /// Runs blocking work with the home.
    pub async fn with_home<T, E>(
        self: &Arc<Self>,
        work: impl FnOnce(&Shared) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        E: Send + 'static,
        Error: From<E>,
    {
        self.ready().await?;
        let shared = Arc::clone(self);
        let outcome = blocking(move || work(&shared)).await;
        outcome.map_err(|error| self.in_home(error))
    }

    /// Returns a sandbox whose disk does not change. `can_freeze` is true if a running one may be
    /// frozen while its disk is cut.
    pub async fn at_rest(
        &self,
        sandbox: &StoredSandbox,
        can_freeze: bool,
    ) -> Result<SandboxAtRest, Error> {
        self.ready().await?;
        self.unfinished.settled(sandbox.spec.id.as_str()).await;
        let at_rest = SandboxAtRest::open(sandbox, can_freeze).await;
        let at_rest = at_rest.map_err(|error| self.in_home(error.into()))?;
        // The disk of a running one may have been cut.
        self.maintain_after_cut(sandbox).await;
        Ok(at_rest)
    }

    /// Returns a sandbox as [`Shared::at_rest`] does; as it is in a snapshot, if one is named.
    pub async fn at_rest_or_snapshot(
        self: &Arc<Self>,
        sandbox: &StoredSandbox,
        snapshot: Option<String>,
        can_freeze: bool,
    ) -> Result<SandboxAtRest, Error> {
        let Some(snapshot) = snapshot else {
            return self.at_rest(sandbox, can_freeze).await;
        };
        let sandbox = sandbox.clone();
        self.with_home(move |_| SandboxAtRest::open_snapshot(&sandbox, &snapshot))
            .await
    }

    /// Adds a hint to the error of a full disk: the home is on it.
    pub fn in_home(&self, error: Error) -> Error {
        let hint = format!("the disk that holds {} is full", self.home.root().display());
        let is_of_home = error.kind() == ErrorKind::OutOfSpace && error.origin().is_some();
        let hint = Hint::from(hint);
        if is_of_home && !error.hints().contains(&hint) {
            error.with_first_hint(hint)
        } else {
            error
        }
    }

    /// Returns the path of the program `msb`, whose version is checked once.
    pub async fn program(&self) -> Result<PathBuf, Error> {
        if let Some(refusal) = self.refused.get() {
            return Err(refusal.error());
        }
        let found = self
            .program
            .get_or_try_init(|| program::find(&self.settings));
        found.await.cloned().inspect_err(|error| {
            // Another program of the name may do anything when it is started.
            if error.kind() == ErrorKind::VersionMismatch {
                let _ = self.refused.set(Refusal::new(error));
            }
        })
    }

    /// Opens the store of images.
    pub fn store(&self) -> Result<Store, Error> {
        if Store::is_new_beside_older(self.home.root()) {
            let message = "images of an earlier msb cannot be used: pull or load them again; msb \
                 df shows the space that they use, and msb prune removes them";
            self.note(Notice::new("older-store", message));
        }
        Ok(Store::open(self.home.root())?)
    }

    /// Returns an index of the images that sandboxes need, which is read once.
    pub fn image_users(&self) -> ImageUsers {
        ImageUsers::new(&self.home)
    }

    /// Keeps a notice until an operation returns it.
    pub fn note(&self, notice: Notice) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        notices.push(notice);
    }

    /// Returns the kept notices, and forgets them.
    pub fn take_notices(&self) -> Vec<Notice> {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut notices)
    }
}
