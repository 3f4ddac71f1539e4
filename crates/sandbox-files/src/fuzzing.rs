//! Staged directories on disks of any content, for the fuzz targets alone.

use std::fs::File;
use std::sync::Arc;

use fstree::{Metadata, Tree};
use msb_runtime::{Mount, staged_targets};
use rootfs_view::View;

use crate::diff::{DiskSide, Scopes, Sides};
use crate::disks::{DiskReader, Disks, Lower};
use crate::restage::{rebase, rebased_tree};
use crate::{ChangeScope, Diff, DiffError, DiscardError, DisksError};

/// The staged directories of a sandbox that does not exist: its disks are files.
#[derive(Debug)]
pub struct StagedFiles {
    side: DiskSide,
    mounts: Vec<Mount>,
}

/// The plan of a restage.
#[derive(Debug)]
pub struct RestagePlan {
    /// The paths of the changes that the sandbox sees, from the sandbox's root.
    pub seen: Vec<Vec<u8>>,
    /// The paths that both sides changed in different ways, from the sandbox's root.
    pub conflicts: Vec<Vec<u8>>,
    /// The number of files of the new writable disk's layer.
    pub files: usize,
}

impl StagedFiles {
    /// Reads the metadata of a writable disk, of the image of the directories, and of those of the files that were
    /// let in. The metadata of the writable disk takes about `metadata_bytes` of memory at most.
    ///
    /// # Errors
    /// If a disk cannot be read, or does not have these directories.
    pub fn open(
        upper: File,
        image: File,
        let_in: Vec<File>,
        mounts: Vec<Mount>,
        metadata_bytes: u64,
    ) -> Result<Self, DisksError> {
        let targets = staged_targets(&mounts);
        let mut view = View::open_staged(reader(upper), reader(image), &targets, metadata_bytes)?;
        view.let_in(let_in.into_iter().map(reader).collect(), &targets)?;
        let disks = Disks::of_lower(view, Lower::Staged((0, 0)));
        Ok(Self {
            side: DiskSide::of_disks(Arc::new(disks), &mounts),
            mounts,
        })
    }

    /// Compares the files with those that were staged.
    ///
    /// # Errors
    /// As [`Diff::of_sandbox`].
    pub fn diff(&self) -> Result<Diff, DiffError> {
        let scopes = Scopes::new(&ChangeScope::default(), &self.mounts);
        let sides = |staged| Sides {
            root: None,
            staged: Some(staged),
        };
        let old = sides(self.side.image_below());
        Diff::new(old, sides(self.side.clone()), &scopes)
    }

    /// Plans the sandbox's changes over another image of the directories.
    ///
    /// # Errors
    /// If the image cannot be read, or the sandbox's changes have no place over it.
    pub fn restage(&self, image: File) -> Result<RestagePlan, RestagePlanError> {
        let targets = staged_targets(&self.mounts);
        let view = View::open_staged_image(reader(image), &targets).map_err(DisksError::from)?;
        let disks = Disks::of_lower(view, Lower::Staged((0, 1)));
        let new = DiskSide::of_image_alone(Arc::new(disks));
        let rebased = rebase(&self.side, &new)?;
        let mut plan = RestagePlan {
            seen: rebased.seen.iter().map(|one| one.path.clone()).collect(),
            conflicts: rebased.conflicts.clone(),
            files: 0,
        };
        if plan.conflicts.is_empty() {
            let wanted = rebased_tree((&self.side, &new), &rebased)?;
            let mut upper: Tree<()> = Tree::new(Metadata::directory(0o755));
            rootfs_view::layer(new.disks().view.image(), &wanted, |_| (), &mut upper);
            plan.files = upper.len();
        }
        Ok(plan)
    }
}

/// A reason why a restage has no plan.
#[derive(Debug, thiserror::Error)]
pub enum RestagePlanError {
    /// The new image cannot be read.
    #[error(transparent)]
    Disks(#[from] DisksError),
    /// The files cannot be compared.
    #[error(transparent)]
    Diff(#[from] DiffError),
    /// A change has no place over the new image.
    #[error(transparent)]
    Discard(#[from] DiscardError),
}

fn reader(file: File) -> DiskReader {
    DiskReader::File(Arc::new(file))
}
