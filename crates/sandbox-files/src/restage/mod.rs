//! Staged directories of a stopped sandbox, staged anew: the host's later changes come below the sandbox's own.
//!
//! A new image of the directories is written, and a new writable disk, on which the sandbox's changes lie over
//! that image. A path that both sides changed in different ways is a conflict, and nothing is done then.
//!
//! The disk and the image belong together. The image waits as `staged.new.erofs` until the disk is in its
//! place, and the UUID of the disk tells whether it is: a process that ends in between leaves what the next one
//! completes or removes.

mod compare;
mod error;

use std::collections::HashMap;
use std::sync::Arc;

use fs_err as fs;
use fstree::{InodeId, Tree};
use msb_runtime::{Home, Sandbox, UpperPool, settle_staged, staged_targets};
use msb_sandbox_snapshots::SandboxSnapshots;
use rootfs_view::{Origin, View};
use tree_diff::{Scope, Side as _};

pub(crate) use compare::{Rebased, rebase};
pub use error::RestageError;

use crate::DiscardError;
use crate::diff::DiskSide;
use crate::discard::{
    BaseTree, Discarded, Discarding, DiskFile, NewUpper, Taken, WantedContent, wanted,
};
use crate::disks::{DiskReader, Disks, Lower, OpenUpper, open_file};

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
    /// has the host's files of this moment. Returns the changes of its files. With `is_dry_run` nothing is
    /// written to the sandbox.
    ///
    /// The sandbox has its old files or its new ones, whenever the process is killed or the host loses power.
    ///
    /// # Errors
    /// If the sandbox runs, has no staged directory or has snapshots, which show their files over the old image;
    /// if a path was changed by both sides in different ways; and if files cannot be read or written.
    pub fn restage(&self, home: &Home, is_dry_run: bool) -> Result<Vec<Restaged>, RestageError> {
        let name = &self.sandbox.spec.name;
        let io_error = |source| RestageError::Write {
            name: name.clone(),
            source,
        };
        let disks_error = |source| RestageError::Disks {
            name: name.clone(),
            source,
        };
        let claimed = self.sandbox.claim().map_err(io_error)?;
        let (sandbox, _lock) =
            claimed.ok_or_else(|| RestageError::Running { name: name.clone() })?;
        let claimed = Restaging::new(&sandbox);
        let targets = staged_targets(&sandbox.spec.mounts);
        if targets.is_empty() {
            return Err(RestageError::NothingStaged { name: name.clone() });
        }
        let snapshots = SandboxSnapshots::new(sandbox.clone()).snapshots();
        let snapshots = snapshots.map_err(|source| RestageError::Snapshots {
            name: name.clone(),
            source,
        })?;
        if !snapshots.is_empty() {
            return Err(RestageError::HasSnapshots {
                name: name.clone(),
                count: snapshots.len(),
            });
        }
        let pool = UpperPool::find(&sandbox.files).map_err(io_error)?;
        let open = OpenUpper::of_locked(&sandbox).map_err(disks_error)?;
        let root = DiskSide::of_disks(
            Arc::new(open.root(home).map_err(disks_error)?),
            &sandbox.spec.mounts,
        );
        let staged = open.staged(home).map_err(disks_error)?;
        let staged = staged.ok_or_else(|| RestageError::NothingStaged { name: name.clone() })?;
        let now = DiskSide::of_disks(Arc::new(staged), &sandbox.spec.mounts);
        drop(open);
        claimed.stage_new(home)?;
        if is_same_image(&sandbox).map_err(io_error)? {
            // Nothing changed on the host.
            settle_staged(&sandbox).map_err(io_error)?;
            return Ok(Vec::new());
        }
        let new = open_image(&sandbox, &targets).map_err(disks_error);
        let new = new.map(|disks| DiskSide::of_image_alone(Arc::new(disks)));
        let planned = new.and_then(|new| {
            let rebased = rebase(&now, &new).map_err(|source| claimed.diff_error(source))?;
            match rebased.conflicts.first() {
                Some(path) => Err(RestageError::Conflicts {
                    name: name.clone(),
                    path: path.clone(),
                    count: rebased.conflicts.len(),
                    paths: rebased.conflicts.clone(),
                }),
                None => Ok((new, rebased)),
            }
        });
        let written = planned.and_then(|(new, rebased)| {
            let seen = rebased.seen.iter().map(|change| Restaged {
                path: change.path.clone(),
                kind: change.kind,
            });
            let listed = seen.collect();
            if is_dry_run {
                fs::remove_file(sandbox.files.new_staged()).map_err(io_error)?;
                return Ok(listed);
            }
            let upper = claimed.rebased_upper(&root, (&now, &new), &rebased, home)?;
            let uuid = sandbox.staged_uuid(&sandbox.files.new_staged());
            let uuid = uuid.map_err(io_error)?;
            let writing = Discarding::new(&sandbox);
            writing.write_upper(upper, pool, (root, now, new), Some(uuid))?;
            Ok(listed)
        });
        // Whatever happened, the image that the disk belongs to is the one that stays.
        let settled = settle_staged(&sandbox).map_err(io_error);
        let listed = written?;
        settled.map(|()| listed)
    }

    fn diff_error(&self, source: crate::DiffError) -> RestageError {
        RestageError::Diff {
            name: self.sandbox.spec.name.clone(),
            source,
        }
    }

    /// Writes the image of the directories as they are now, as the one to come.
    fn stage_new(&self, home: &Home) -> Result<(), RestageError> {
        let mut listing = self
            .sandbox
            .list_staged()
            .map_err(|source| RestageError::Stage {
                name: self.sandbox.spec.name.clone(),
                source: Box::new(source),
            })?;
        let images = home.staged_images();
        let staged = images.stage(&mut listing, &self.sandbox.files.new_staged());
        staged.map_err(|source| RestageError::Stage {
            name: self.sandbox.spec.name.clone(),
            source: Box::new(source.into()),
        })?;
        let synced = durable_files::sync_directory(&self.sandbox.files.directory);
        synced.map_err(|source| RestageError::Write {
            name: self.sandbox.spec.name.clone(),
            source,
        })
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

/// Opens the image to come, without an upper disk.
fn open_image(sandbox: &Sandbox, targets: &[Vec<u8>]) -> Result<Disks, crate::DisksError> {
    let (image, identity) = open_file(&sandbox.files.new_staged())?;
    Ok(Disks::of_lower(
        View::<DiskReader>::open_staged_image(image, targets)?,
        Lower::Staged(identity),
    ))
}

/// Returns true if the image to come is the one that the sandbox has.
fn is_same_image(sandbox: &Sandbox) -> std::io::Result<bool> {
    let (_, new) = open_file(&sandbox.files.new_staged())?;
    let (_, old) = open_file(&sandbox.files.staged())?;
    Ok(new == old)
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
