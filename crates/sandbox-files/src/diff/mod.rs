//! Changes of a sandbox, found on its disks.

mod error;
mod given;
mod own;
mod relation;
mod scope;
mod scopes;
mod side;

use std::path::Path;
use std::sync::Arc;

use fstree::{Inode, Xattrs};
use image_store::StoredImage;
use msb_agent_protocol::v1::FileStat;
use msb_runtime::{Home, Mount, Target, staged};
use rootfs_view::Content;
use tree_diff::{Change, Compared, Patch, Patcher, PathFilter, Scope, compare, leave_out};

pub use error::DiffError;

use crate::files::describe;
use crate::{ApplyError, ApplyOptions, HostChanges, SandboxAtRest};
pub(crate) use relation::DiskRelation;
pub use scope::ChangeScope;
pub(crate) use scopes::Scopes;
pub use side::DiskSide;
pub(crate) use side::{Parts, Sides};

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

/// The differences between two sandboxes or images: of their root filesystems, and of the staged directories of
/// sandboxes. Neither of them can be started while this value lives, if it is a stopped sandbox's.
#[derive(Debug)]
pub struct Diff {
    root: Option<Arc<Compared<DiskSide>>>,
    staged: Option<Arc<Compared<DiskSide>>>,
    /// The paths in the sandbox of the staged directories.
    targets: Vec<Target>,
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
    /// Opens the root filesystem of the side.
    pub(crate) fn open(self, home: &Home) -> Result<DiskSide, DiffError> {
        match self {
            Self::Sandbox(sandbox) => DiskSide::of_sandbox(*sandbox, home),
            Self::Image { name, image } => DiskSide::of_image(&name, &image, home),
        }
    }

    /// Opens the filesystems of the side.
    fn open_both(self, home: &Home, parts: Parts) -> Result<Sides, DiffError> {
        match self {
            Self::Sandbox(sandbox) => DiskSide::open_both(*sandbox, home, parts),
            image @ Self::Image { .. } => Ok(Sides {
                root: parts.root.then(|| image.open(home)).transpose()?,
                staged: None,
            }),
        }
    }

    /// Returns the mounts of the side.
    fn mounts(&self) -> &[Mount] {
        match self {
            Self::Sandbox(sandbox) => &sandbox.sandbox.spec.mounts,
            Self::Image { .. } => &[],
        }
    }

    fn has_staged(&self) -> bool {
        staged(self.mounts()).next().is_some()
    }

    fn has_native_root(&self) -> bool {
        match self {
            Self::Sandbox(sandbox) => sandbox.sandbox.spec.native_root,
            Self::Image { .. } => false,
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
    leave_out_given(&mut changes, (old, new));
    filter(&mut changes, (old, new), &scope.filter);
    Ok(changes)
}

/// Leaves out the files that msb gave a guest for its secrets and its trust.
pub(crate) fn leave_out_given(changes: &mut Vec<Change>, (old, new): (&DiskSide, &DiskSide)) {
    let is_given = |change: &Change| {
        let path = &change.path;
        change.new.is_some_and(|id| new.is_given(path, id))
            || change.old.is_some_and(|id| old.is_given(path, id))
    };
    let is_new_directory = |change: &Change| change.new.is_some_and(|id| new.is_directory(id));
    leave_out(changes, is_given, is_new_directory);
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
    /// before its first boot, and the staged directories as they were then. If the files that the root began
    /// with are not on this host, it is compared with its image. A native root is not compared.
    ///
    /// # Errors
    /// If the disks cannot be read, or neither side has one of the scope's paths.
    pub fn of_sandbox(
        home: &Home,
        sandbox: SandboxAtRest,
        scope: &ChangeScope,
    ) -> Result<Self, DiffError> {
        let description = sandbox.sandbox.clone();
        let scopes = Scopes::of_sandbox(scope, &description.spec);
        let new = DiskSide::open_both(sandbox, home, scopes.parts())?;
        let old = Sides {
            root: match &new.root {
                Some(root) => Some(root.of_base(&description, home)?),
                None => None,
            },
            staged: new.staged.as_ref().map(DiskSide::image_below),
        };
        Self::new(old, new, &scopes)
    }

    /// Compares two sides. The staged directories are compared if both have them. Without a path, they are all that
    /// is compared if a root is native.
    ///
    /// # Errors
    /// As [`Diff::of_sandbox`].
    pub fn between(
        home: &Home,
        old: DiffSide,
        new: DiffSide,
        scope: &ChangeScope,
    ) -> Result<Self, DiffError> {
        let scopes = if old.has_staged() && new.has_staged() {
            Scopes::new(scope, new.mounts())
        } else {
            Scopes::new(scope, &[])
        };
        let scopes = if old.has_native_root() || new.has_native_root() {
            scopes.without_root(scope)
        } else {
            scopes
        };
        let parts = scopes.parts();
        Self::new(
            old.open_both(home, parts)?,
            new.open_both(home, parts)?,
            &scopes,
        )
    }

    /// Compares the filesystems of two sides, as far as both have them and they are in the scope.
    pub(crate) fn new(old: Sides, new: Sides, scopes: &Scopes) -> Result<Self, DiffError> {
        let compare =
            |old: Option<DiskSide>, new: Option<DiskSide>, scope: &Option<ChangeScope>| {
                let (Some(old), Some(new), Some(scope)) = (old, new, scope) else {
                    return Ok(None);
                };
                let changes = changes(&old, &new, scope)?;
                Ok::<_, DiffError>(Some(Arc::new(Compared { old, new, changes })))
            };
        Ok(Self {
            root: compare(old.root, new.root, &scopes.root)?,
            staged: compare(old.staged, new.staged, &scopes.staged)?,
            targets: scopes.targets.clone(),
            patcher: Patcher::default(),
        })
    }

    /// Returns the changes, parents before children, those of staged directories last. A directory is not
    /// among them if only its modification time differs, because that follows from changes of its names.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        let parts = self.root.iter().chain(&self.staged);
        parts.flat_map(|part| &part.changes)
    }

    /// Returns the number of changes.
    pub fn len(&self) -> usize {
        let parts = self.root.iter().chain(&self.staged);
        parts.map(|part| part.changes.len()).sum()
    }

    /// Returns true if root filesystems were compared; false if only staged directories were.
    pub const fn has_root(&self) -> bool {
        self.root.is_some()
    }

    /// Returns true if there are no changes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the change with this index; `None` if there are fewer.
    pub fn change(&self, index: usize) -> Option<&Change> {
        self.at(index).map(|(_, change)| change)
    }

    fn at(&self, index: usize) -> Option<(&Arc<Compared<DiskSide>>, &Change)> {
        let mut index = index;
        for part in self.root.iter().chain(&self.staged) {
            match part.changes.get(index) {
                Some(change) => return Some((part, change)),
                None => index -= part.changes.len(),
            }
        }
        None
    }

    /// Returns the filesystems that a directory of the sandbox is on: the staged directories if it is in one of
    /// them. `None` if they are not in the scope.
    fn part_of(&self, directory: &[u8]) -> Option<&Arc<Compared<DiskSide>>> {
        if self.targets.iter().any(|target| target.covers(directory)) {
            self.staged.as_ref()
        } else {
            self.root.as_ref()
        }
    }

    /// Compares the changes with the files of a directory of the host, and finds what is to be done. Nothing is
    /// written.
    ///
    /// # Errors
    /// If the sandbox has no directory [`ApplyOptions::from`], or as [`HostChanges::plan`].
    pub fn plan_apply(
        &self,
        directory: &Path,
        options: ApplyOptions,
    ) -> Result<HostChanges, ApplyError> {
        let nothing = || ApplyError::NoOrigin {
            path: options.from.clone(),
        };
        let compared = Arc::clone(self.part_of(&options.from).ok_or_else(nothing)?);
        HostChanges::plan(compared, directory, options)
    }

    /// Returns the attributes of the old file of a change. `None` if the name was added.
    pub fn old_file(&self, index: usize) -> Option<ChangedFile<'_>> {
        let (part, change) = self.at(index)?;
        change.old.map(|id| ChangedFile::new(part.old.inode(id)))
    }

    /// Returns the attributes of the new file of a change. `None` if the name was deleted.
    pub fn new_file(&self, index: usize) -> Option<ChangedFile<'_>> {
        let (part, change) = self.at(index)?;
        change.new.map(|id| ChangedFile::new(part.new.inode(id)))
    }

    /// Returns the change with this index in the form of `git diff`. `None` if there is none.
    ///
    /// # Errors
    /// If content cannot be read.
    pub fn patch(&mut self, index: usize) -> Result<Option<Patch>, DiffError> {
        let mut patcher = std::mem::take(&mut self.patcher);
        let patch = match self.at(index) {
            Some((part, change)) => Some(patcher.patch(&part.old, &part.new, change)),
            None => None,
        };
        self.patcher = patcher;
        Ok(patch.transpose()?)
    }
}
