//! Changes of a sandbox, found on its disks.

mod error;
mod own;
mod relation;
mod scope;
mod side;

use fstree::{Inode, Xattrs};
use image_store::StoredImage;
use msb_agent_protocol::v1::FileStat;
use rootfs_view::Content;
use tree_diff::{Change, Patch, Patcher, PathFilter, Scope, compare, leave_out};

pub use error::DiffError;

use crate::files::describe;
use crate::{Home, SandboxAtRest};
pub(crate) use relation::DiskRelation;
pub use scope::ChangeScope;
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

impl DiffSide {
    /// Opens the disks of the side.
    pub(crate) fn open(self, home: &Home) -> Result<DiskSide, DiffError> {
        match self {
            Self::Sandbox(sandbox) => DiskSide::of_sandbox(*sandbox, home),
            Self::Image { name, image } => DiskSide::of_image(&name, &image, home),
        }
    }
}

/// Returns the changes that make the new side of the old one, as far as they are in the scope.
pub(crate) fn changes(
    old: &DiskSide,
    new: &DiskSide,
    scope: &ChangeScope,
) -> Result<Vec<Change>, DiffError> {
    let paths = Scope::of_paths(&scope.paths)?;
    for path in &scope.paths {
        if !old.has(path) && !new.has(path) {
            return Err(DiffError::NotThere { path: path.clone() });
        }
    }
    let mut changes = compare(old, new, &DiskRelation::new(old, new), &paths)?;
    changes.retain(|change| {
        let is_directory = change.new.is_some_and(|id| new.is_directory(id));
        !change.is_directory_time(is_directory)
    });
    filter(&mut changes, (old, new), &scope.filter);
    Ok(changes)
}

/// Leaves out the changes that a filter does not keep.
pub(crate) fn filter(
    changes: &mut Vec<Change>,
    (old, new): (&DiskSide, &DiskSide),
    filter: &PathFilter,
) {
    let is_new_directory = |change: &Change| change.new.is_some_and(|id| new.is_directory(id));
    let is_left_out = |change: &Change| {
        let was_directory = || change.old.is_some_and(|id| old.is_directory(id));
        let is_directory = match change.new {
            Some(id) => new.is_directory(id),
            None => was_directory(),
        };
        !filter.keeps(&change.path, is_directory)
    };
    leave_out(changes, is_left_out, is_new_directory);
}

impl Diff {
    /// Compares a sandbox with what it began with: the files of its image, with the changes that were made
    /// before its first boot. If these are not on this host, it is compared with its image.
    ///
    /// # Errors
    /// If the disks cannot be read, or neither side has one of the scope's paths.
    pub fn of_sandbox(
        home: &Home,
        sandbox: SandboxAtRest,
        scope: &ChangeScope,
    ) -> Result<Self, DiffError> {
        let description = sandbox.sandbox.clone();
        let new = DiskSide::of_sandbox(sandbox, home)?;
        Self::new(new.of_base(&description, home)?, new, scope)
    }

    /// Compares two sides.
    ///
    /// # Errors
    /// As [`Diff::of_sandbox`].
    pub fn between(
        home: &Home,
        old: DiffSide,
        new: DiffSide,
        scope: &ChangeScope,
    ) -> Result<Self, DiffError> {
        Self::new(old.open(home)?, new.open(home)?, scope)
    }

    fn new(old: DiskSide, new: DiskSide, scope: &ChangeScope) -> Result<Self, DiffError> {
        let changes = changes(&old, &new, scope)?;
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
