//! Staged directories of a stopped sandbox, staged anew: the host's later changes come below the sandbox's own.
//!
//! A new image of the directories is written, and a new writable disk, on which the sandbox's changes lie over
//! that image. A path that both sides changed in different ways is a conflict, and nothing is done then.
//!
//! The list of the new disk names the image, so a process that ends early leaves the
//! old disk over the old image, or the new one over the new image. Snapshots stay over the images that they were
//! taken over.

mod compare;
mod error;

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use fs_err as fs;
use fstree::{InodeId, Tree};
use msb_runtime::{CreateError, Home, Sandbox, UpperPool, current_staged, staged, staged_targets};
use msb_sandbox_snapshots::{SandboxSnapshots, SnapshotError};
use rootfs_view::{Origin, View};
use tree_diff::{Scope, Side as _};

pub(crate) use compare::{Rebased, rebase};
pub use error::RestageError;

use crate::diff::DiskSide;
use crate::discard::{
    BaseTree, Discarded, Discarding, DiskFile, NewUpper, Taken, WantedContent, wanted,
};
use crate::disks::{DiskReader, Disks, Lower, OpenUpper, open_file};
use crate::{DiscardError, finish_applying};

/// A change of the host that a sandbox sees once its directories are staged anew.
pub type Restaged = Discarded;

/// A sandbox whose directories are staged anew.
#[derive(Debug)]
pub struct Restaging<'a> {
    sandbox: &'a Sandbox,
}

impl<'a> Restaging<'a> {
    /// Returns the sandbox as one whose directories may be staged anew; nothing is read or made.
    pub const fn new(sandbox: &'a Sandbox) -> Self {
        Self { sandbox }
    }

    /// Stages the directories of the stopped sandbox anew. Its own changes stay; where it changed nothing, it
    /// has the host's files of this moment. Returns the changes of its files. Snapshots keep the files that they
    /// have. With `is_dry_run` nothing is written to the sandbox.
    ///
    /// The sandbox has its old files or its new ones, whenever the process is killed or the host loses power.
    ///
    /// # Errors
    /// If the sandbox runs, or has no staged directory or one of another host; if a path was changed by both sides
    /// in different ways; and if files cannot be read or written.
    pub fn restage(&self, home: &Home, is_dry_run: bool) -> Result<Vec<Restaged>, RestageError> {
        let name = &self.sandbox.spec.name;
        let disks_error = |source| RestageError::Disks {
            name: name.clone(),
            source,
        };
        let claimed = self.sandbox.claim().map_err(|error| self.io_error(error))?;
        let (sandbox, _lock) =
            claimed.ok_or_else(|| RestageError::Running { name: name.clone() })?;
        let claimed = Restaging::new(&sandbox);
        let targets = staged_targets(&sandbox.spec.mounts);
        if targets.is_empty() {
            return Err(RestageError::NothingStaged { name: name.clone() });
        }
        if !is_dry_run {
            finish_applying(home, &sandbox.spec.mounts)?;
        }
        claimed.check_sources()?;
        let open = OpenUpper::of_locked(&sandbox).map_err(disks_error)?;
        let root = DiskSide::of_disks(
            Arc::new(open.root(home).map_err(disks_error)?),
            &sandbox.spec.mounts,
        );
        let staged = open.staged(home).map_err(disks_error)?;
        let staged = staged.ok_or_else(|| RestageError::NothingStaged { name: name.clone() })?;
        let now = DiskSide::of_disks(Arc::new(staged), &sandbox.spec.mounts);
        drop(open);
        let image = claimed.stage_new(home)?;
        if image
            .is_current(&sandbox)
            .map_err(|error| self.io_error(error))?
        {
            // Nothing changed on the host, or a process that was killed has left what is removed now.
            claimed.remove_left(is_dry_run)?;
            return Ok(Vec::new());
        }
        let new = image.open(&targets).map_err(disks_error)?;
        let new = DiskSide::of_image_alone(Arc::new(new));
        let rebased = rebase(&now, &new).map_err(|source| claimed.diff_error(source))?;
        if let Some(path) = rebased.conflicts.first() {
            return Err(RestageError::Conflicts {
                name: name.clone(),
                path: path.clone(),
                count: rebased.conflicts.len(),
                paths: rebased.conflicts.clone(),
            });
        }
        let seen = rebased.seen.iter().map(|change| Restaged {
            path: change.path.clone(),
            kind: change.kind,
        });
        let listed = seen.collect();
        if is_dry_run {
            return Ok(listed);
        }
        let upper = claimed.rebased_upper(&root, (&now, &new), &rebased, home)?;
        let writing = Discarding::new(&sandbox);
        let pool = UpperPool::adopt(&sandbox.files).map_err(SnapshotError::from);
        let pool = pool.map_err(|source| writing.snapshot_error(source))?;
        writing.write_upper(upper, &pool, (root, now, new), Some(&image.0))?;
        Ok(listed)
    }

    fn io_error(&self, source: io::Error) -> RestageError {
        RestageError::Write {
            name: self.sandbox.spec.name.clone(),
            source,
        }
    }

    /// Removes what a process that was killed after its last step has left.
    fn remove_left(&self, is_dry_run: bool) -> Result<(), RestageError> {
        if is_dry_run {
            return Ok(());
        }
        let removed = SandboxSnapshots::new(self.sandbox.clone()).remove_unlisted();
        removed.map_err(|source| Discarding::new(self.sandbox).snapshot_error(source).into())
    }

    /// Checks that this host has all directories, before any disk is read.
    fn check_sources(&self) -> Result<(), RestageError> {
        for (mount, staged) in staged(&self.sandbox.spec.mounts) {
            let source = staged.source(&mount.target).map_err(CreateError::from);
            source.map_err(|source| self.stage_error(source))?;
        }
        Ok(())
    }

    fn stage_error(&self, source: CreateError) -> RestageError {
        RestageError::Stage {
            name: self.sandbox.spec.name.clone(),
            source: Box::new(source),
        }
    }

    fn diff_error(&self, source: crate::DiffError) -> RestageError {
        RestageError::Diff {
            name: self.sandbox.spec.name.clone(),
            source,
        }
    }

    /// Writes the image of the directories as they are now.
    fn stage_new(&self, home: &Home) -> Result<NewImage, RestageError> {
        let listing = self.sandbox.list_staged();
        let mut listing = listing.map_err(|source| self.stage_error(source))?;
        let image = NewImage(self.sandbox.files.unfinished_staged());
        let staged = home.staged_images().stage(&mut listing, &image.0);
        staged.map_err(|source| self.stage_error(source.into()))?;
        Ok(image)
    }

    /// Returns the content of the new upper disk: the root as it is, and the sandbox's changes over the new image.
    fn rebased_upper(
        &self,
        root: &DiskSide,
        (now, new): (&DiskSide, &DiskSide),
        rebased: &Rebased,
        home: &Home,
    ) -> Result<NewUpper, RestageError> {
        let wanted = rebased_tree((now, new), rebased)?;
        let layer = |upper: &mut Tree<DiskFile>| {
            let on_disk = |wanted: &WantedContent| {
                let side = if wanted.is_of_base { now } else { new };
                DiskFile::on_disk(side.disks(), &wanted.content)
            };
            rootfs_view::layer(new.disks().view.image(), &wanted, on_disk, upper)
        };
        let writing = Discarding::new(self.sandbox);
        Ok(writing.upper_of_unchanged(root, home, (new, &layer))?)
    }
}

/// Returns the tree that the sandbox has over the new image, in the form that [`rootfs_view::layer`] takes.
pub(crate) fn rebased_tree(
    (now, new): (&DiskSide, &DiskSide),
    rebased: &Rebased,
) -> Result<Tree<WantedContent>, DiscardError> {
    let origins = origins(now, new);
    let origin = |id: InodeId| Origin {
        is_upper: true,
        lower: origins.get(&id).copied(),
    };
    let base = BaseTree {
        tree: now.tree(),
        origin: &origin,
    };
    let everything = Scope::everything();
    let taken = Taken {
        scope: &everything,
        paths: Some(&rebased.kept),
    };
    wanted(&new.disks().view, &base, &taken)
}

/// The path of an image that no disk lies over yet. The name goes with this value; a disk that lies over the image
/// has another one.
struct NewImage(PathBuf);

impl NewImage {
    /// Opens the image, without an upper disk.
    fn open(&self, targets: &[Vec<u8>]) -> Result<Disks, crate::DisksError> {
        let (image, identity) = open_file(&self.0)?;
        Ok(Disks::of_lower(
            View::<DiskReader>::open_staged_image(image, targets)?,
            Lower::Staged(identity),
        ))
    }

    /// Returns true if the image is the one that the sandbox has.
    fn is_current(&self, sandbox: &Sandbox) -> io::Result<bool> {
        let (_, new) = open_file(&self.0)?;
        let (_, old) = open_file(&current_staged(&sandbox.files)?)?;
        Ok(new == old)
    }
}

impl Drop for NewImage {
    fn drop(&mut self) {
        // The next claim of the sandbox removes what stays.
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns the directories of the new image by those of the sandbox that have the same path.
fn origins(now: &DiskSide, new: &DiskSide) -> HashMap<InodeId, InodeId> {
    let mut origins = HashMap::new();
    let mut due = vec![(now.tree().root(), new.tree().root())];
    while let Some((one, other)) = due.pop() {
        let (Some(names), Some(_)) = (now.tree().directory(one), new.tree().directory(other))
        else {
            continue;
        };
        origins.insert(one, other);
        for (name, &id) in names {
            due.extend(
                new.tree()
                    .lookup(other, name.as_bytes())
                    .map(|found| (id, found)),
            );
        }
    }
    origins
}
