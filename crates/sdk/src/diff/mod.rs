//! Changes of a sandbox, and differences between sandboxes and images.

mod change;
mod discard;
mod options;
mod patch;
mod restage;

use std::sync::{Arc, Mutex, PoisonError};

use image_store::StoredImage;
use msb_cancellation::Effect;
use msb_client::{Shared, blocking};
use msb_runtime::Sandbox as StoredSandbox;
use msb_sandbox_files::{Diff as DiskDiff, DiffSide, SandboxAtRest};

pub use change::{Change, ChangeKind, ChangedFile, Xattr};
pub use discard::{DiscardOptions, DiscardedChange};
pub use options::DiffOptions;
pub(crate) use options::{bytes, scope};
pub use patch::{Patch, PatchLines};

use crate::{Error, ErrorKind, Msb, Operation, Sandbox};

/// The differences between two root filesystems. Neither of them can be started while this value
/// lives, if it is a stopped sandbox's.
#[derive(Debug, Clone)]
pub struct Diff {
    found: Arc<Mutex<DiskDiff>>,
}

impl Diff {
    fn new(found: DiskDiff) -> Self {
        Self {
            found: Arc::new(Mutex::new(found)),
        }
    }

    /// Returns the number of changes.
    pub fn len(&self) -> usize {
        self.with(DiskDiff::len)
    }

    /// Returns true if root filesystems were compared, which native ones cannot be; false if only staged
    /// directories were.
    pub fn has_root(&self) -> bool {
        self.with(DiskDiff::has_root)
    }

    /// Returns true if there are no changes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the change with this index; `None` if there are fewer.
    pub fn get(&self, index: usize) -> Option<Change> {
        self.with(|found| Change::at(found, index))
    }

    /// Iterates over the changes: parents before children, names in bytewise order.
    pub fn changes(&self) -> impl Iterator<Item = Change> + '_ {
        (0..).map_while(|index| self.get(index))
    }

    /// Returns the change with this index in the form of `git diff`. What is replaced with its
    /// directory has a patch too.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if there are fewer changes; otherwise if the
    /// content of the file cannot be read.
    pub fn patch(&self, index: usize) -> Operation<Patch> {
        let this = self.clone();
        Operation::new(async move {
            let reading = blocking(move || {
                let mut found = this.found.lock().unwrap_or_else(PoisonError::into_inner);
                found.patch(index)
            });
            let patch = reading.await?;
            let patch = patch.ok_or_else(|| Error::invalid("the diff has no such change"));
            Ok(Patch::from(patch?))
        })
    }

    fn with<T>(&self, read: impl FnOnce(&DiskDiff) -> T) -> T {
        read(&self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Msb {
    /// Compares two sandboxes, snapshots or images, by their names: the changes that make the second of
    /// the first. `SANDBOX@NAME` is a snapshot. The disk of a running sandbox is frozen and cut; if
    /// both run, each is cut at its own moment.
    ///
    /// ```no_run
    /// use msb_sdk::DiffOptions;
    ///
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let diff = msb.diff("app:1", "app:2", DiffOptions::default().path("/etc")).await?;
    /// for change in diff.changes() {
    ///     println!("{} {}", change.kind.letter(), change.path);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) if neither a sandbox nor an image has a name,
    /// [`PathNotFound`](ErrorKind::PathNotFound) if neither side has one of the paths,
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if the options name a snapshot, and for a running
    /// sandbox the errors of [`Sandbox::diff`].
    pub fn diff(
        &self,
        old: impl Into<String>,
        new: impl Into<String>,
        options: DiffOptions,
    ) -> Operation<Diff> {
        let (shared, old, new) = (Arc::clone(self.shared()), old.into(), new.into());
        Operation::new(async move {
            if let Some(snapshot) = &options.snapshot {
                let message =
                    format!("name the snapshot as a side, SANDBOX@{snapshot}, not in the options");
                return Err(Error::invalid(message));
            }
            let scope = options.scope()?;
            let finding = shared.with_home(move |shared| {
                Ok::<_, Error>((find(shared, &old)?, find(shared, &new)?))
            });
            let (old, new) = finding.await?;
            let old = old.side(&shared, options.pause).await?;
            let new = new.side(&shared, options.pause).await?;
            let comparing =
                shared.with_home(move |shared| DiskDiff::between(shared.home(), old, new, &scope));
            comparing.await.map(Diff::new)
        })
    }
}

impl Sandbox {
    /// Compares the sandbox with what it began with: its image, with the files that were copied and written
    /// before its first boot. The changes are what was added, changed and deleted since.
    ///
    /// If it runs, its guest syncs the writable disk and keeps it frozen while the disk is cut, for
    /// at most 1 s; processes that write to it wait meanwhile. The state of that moment is compared.
    ///
    /// ```no_run
    /// use msb_sdk::DiffOptions;
    ///
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// for change in sandbox.diff(DiffOptions::default()).await?.changes() {
    ///     println!("{} {}", change.kind.letter(), change.path);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`PathNotFound`](ErrorKind::PathNotFound) if neither side has one of the paths. For a running
    /// sandbox [`SandboxRunning`](ErrorKind::SandboxRunning) without
    /// [`DiffOptions::pause`], [`OutOfSpace`](ErrorKind::OutOfSpace) if the host's disk is full,
    /// and [`Busy`](ErrorKind::Busy) if the guest did not keep the disk frozen until it was cut.
    pub fn diff(&self, options: DiffOptions) -> Operation<Diff> {
        // The thread that compares keeps the sandbox from starting.
        self.handle()
            .change(Effect::Slight, move |handle| async move {
                let scope = options.scope()?;
                let snapshot = options.snapshot.clone();
                let at_rest = handle
                    .shared()
                    .at_rest_or_snapshot(&handle.stored(), snapshot, options.pause)
                    .await?;
                let comparing = handle
                    .shared()
                    .with_home(move |shared| DiskDiff::of_sandbox(shared.home(), at_rest, &scope));
                comparing.await.map(Diff::new)
            })
    }
}

/// The sandbox, snapshot or image of a name.
pub(crate) enum Named {
    Sandbox(Box<StoredSandbox>),
    Snapshot(Box<SandboxAtRest>),
    Image {
        name: String,
        image: Box<StoredImage>,
    },
}

impl Named {
    /// Returns what is compared. `can_freeze` is true if a running sandbox may be frozen.
    pub(crate) async fn side(self, shared: &Shared, can_freeze: bool) -> Result<DiffSide, Error> {
        Ok(match self {
            Self::Sandbox(sandbox) => {
                DiffSide::Sandbox(Box::new(shared.at_rest(&sandbox, can_freeze).await?))
            }
            Self::Snapshot(at_rest) => DiffSide::Sandbox(at_rest),
            Self::Image { name, image } => DiffSide::Image { name, image },
        })
    }
}

/// Returns the sandbox of a name, else the snapshot, else the image.
pub(crate) fn find(shared: &Shared, name: &str) -> Result<Named, Error> {
    if let Some(sandbox) = StoredSandbox::find(shared.home(), name)? {
        return Ok(Named::Sandbox(Box::new(sandbox)));
    }
    // The name of an image may have a digest behind an @, but no snapshot has a colon.
    if let Some((sandbox, snapshot)) = name.split_once('@')
        && !snapshot.contains(':')
        && let Some(sandbox) = StoredSandbox::find(shared.home(), sandbox)?
    {
        return Ok(Named::Snapshot(Box::new(SandboxAtRest::open_snapshot(
            &sandbox, snapshot,
        )?)));
    }
    match shared.store()?.find(name) {
        Ok(image) => Ok(Named::Image {
            name: name.to_owned(),
            image: Box::new(image),
        }),
        Err(error) => {
            let error = Error::from(error);
            if error.kind() != ErrorKind::ImageNotFound {
                return Err(error);
            }
            let name = msb_client::printable(name);
            let message = format!("no such sandbox or image: {name}");
            Err(Error::new(ErrorKind::NotFound, message).with_detail("name", name))
        }
    }
}
