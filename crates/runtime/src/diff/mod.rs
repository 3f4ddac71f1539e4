//! Changes of a sandbox, found on its disks.

mod error;
mod own;
mod relation;
mod side;

use fstree::{Inode, Xattrs};
use image_store::StoredImage;
use msb_agent_protocol::v1::FileStat;
use rootfs_view::Content;
use tree_diff::{Change, Patch, Patcher, Scope, compare};

pub use error::DiffError;

use crate::files::describe;
use crate::{Home, SandboxAtRest};
pub(crate) use relation::DiskRelation;
pub(crate) use side::DiskSide;

/// One side of a comparison.
#[derive(Debug)]
pub enum DiffSide {
    /// A sandbox.
    Sandbox(Box<SandboxAtRest>),
    /// An image.
    Image {
        /// The image's name, as the user gave it.
        name: String,
        /// The image.
        image: Box<StoredImage>,
    },
}

/// The differences between two root filesystems. Neither of them can be started while this value
/// lives, if it is a stopped sandbox's.
#[derive(Debug)]
pub struct Diff {
    old: DiskSide,
    new: DiskSide,
    changes: Vec<Change>,
    patcher: Patcher,
}

/// A file that is on one side of a change.
#[derive(Debug)]
pub struct ChangedFile<'a> {
    /// Its attributes.
    pub stat: FileStat,
    /// Its extended attributes.
    pub xattrs: &'a Xattrs,
}

impl<'a> ChangedFile<'a> {
    fn new(inode: &'a Inode<Content>) -> Self {
        Self {
            stat: describe(inode),
            xattrs: &inode.metadata.xattrs,
        }
    }
}

impl Diff {
    /// Compares a sandbox with its image.
    ///
    /// # Errors
    /// If the disks cannot be read, or neither side has one of the scope's `paths`.
    pub fn of_sandbox(
        home: &Home,
        sandbox: SandboxAtRest,
        paths: &[Vec<u8>],
    ) -> Result<Self, DiffError> {
        let new = DiskSide::of_sandbox(sandbox, home)?;
        Self::new(new.image_below(), new, paths)
    }

    /// Compares two sides.
    ///
    /// # Errors
    /// As [`Diff::of_sandbox`].
    pub fn between(
        home: &Home,
        old: DiffSide,
        new: DiffSide,
        paths: &[Vec<u8>],
    ) -> Result<Self, DiffError> {
        let open = |side| match side {
            DiffSide::Sandbox(sandbox) => DiskSide::of_sandbox(*sandbox, home),
            DiffSide::Image { name, image } => DiskSide::of_image(&name, &image, home),
        };
        Self::new(open(old)?, open(new)?, paths)
    }

    fn new(old: DiskSide, new: DiskSide, paths: &[Vec<u8>]) -> Result<Self, DiffError> {
        let scope = Scope::of_paths(paths)?;
        for path in paths {
            if !old.has(path) && !new.has(path) {
                return Err(DiffError::NotThere { path: path.clone() });
            }
        }
        let relation = DiskRelation::new(&old, &new);
        let mut changes = compare(&old, &new, &relation, &scope)?;
        changes.retain(|change| {
            let is_directory = change.new.is_some_and(|id| new.is_directory(id));
            !change.is_directory_time(is_directory)
        });
        Ok(Self {
            old,
            new,
            changes,
            patcher: Patcher::default(),
        })
    }

    /// Returns the changes, parents before children. A directory is not among them if only its
    /// modification time differs, because that follows from changes of its names.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Returns the two sides, the old one first.
    pub(crate) const fn sides(&self) -> (&DiskSide, &DiskSide) {
        (&self.old, &self.new)
    }

    /// Returns the attributes of the old file of a change. `None` if the name was added.
    pub fn old_file(&self, change: &Change) -> Option<ChangedFile<'_>> {
        change.old.map(|id| ChangedFile::new(self.old.inode(id)))
    }

    /// Returns the attributes of the new file of a change. `None` if the name was deleted.
    pub fn new_file(&self, change: &Change) -> Option<ChangedFile<'_>> {
        change.new.map(|id| ChangedFile::new(self.new.inode(id)))
    }

    /// Returns the change with this index in the form of `git diff`. `None` if there is none.
    ///
    /// # Errors
    /// If content cannot be read.
    pub fn patch(&mut self, index: usize) -> Result<Option<Patch>, DiffError> {
        let Some(change) = self.changes.get(index) else {
            return Ok(None);
        };
        Ok(Some(self.patcher.patch(&self.old, &self.new, change)?))
    }
}
