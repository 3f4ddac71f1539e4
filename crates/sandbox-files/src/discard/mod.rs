//! Changes of a stopped sandbox, taken back: a new writable disk is written beside the old one, and
//! takes its place when it is complete. Snapshots of the old one stay as they are.

mod claimed;
mod content;
mod error;
mod native;
#[cfg(test)]
mod tests;
mod wanted;
mod write;

use std::collections::HashSet;
use std::io::{self, Read as _};
use std::iter;
use std::sync::Arc;

use fstree::{FileKind, Inode, InodeId, Metadata, Name, Tree};
use msb_runtime::{Base, Home, Mount, Sandbox, UpperPool, add_staged, staged_targets};
use tree_diff::{Change, ChangeKind, Scope, Side as _, leave_out};

pub use claimed::ClaimedSandbox;
pub(crate) use content::DiskFile;
pub use error::DiscardError;
pub(crate) use native::NewUpper;
pub(crate) use wanted::{BaseTree, Taken, WantedContent, wanted};

use crate::diff::{self, DiskSide, Scopes};
use crate::disks::{DiskReader, OpenUpper, open_upper};
use crate::{ChangeScope, DiffError, DiffSide, finish_applying};

/// The longest file of extra hosts on an upper disk, as the agent reads it, in bytes.
const HOSTS_MAX_BYTES: u64 = 1 << 20;

/// Options for changes that are taken back.
#[derive(Debug, Default)]
pub struct DiscardOptions {
    /// The changes, by their paths.
    pub scope: ChangeScope,
    /// The only paths whose changes are taken back, each by itself; all in the scope if `None`.
    pub chosen: Option<HashSet<Vec<u8>>>,
    /// The files that changes are taken back to; those that the sandbox began with if `None`.
    pub base: Option<DiffSide>,
    /// True if nothing is written.
    pub is_dry_run: bool,
}

/// A change that was made to take another one back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discarded {
    /// The path, with a leading `/`.
    pub path: Vec<u8>,
    /// The kind of the change: a name that the sandbox added is deleted.
    pub kind: ChangeKind,
}

impl ClaimedSandbox {
    /// Takes changes of the sandbox back, as [`Discarding::discard`] does. This process must not have its disks open.
    ///
    /// # Errors
    /// As [`Discarding::discard`].
    pub fn discard(
        &self,
        home: &Home,
        options: DiscardOptions,
    ) -> Result<Vec<Discarded>, DiscardError> {
        let sandbox = &self.sandbox;
        let claimed = Discarding::new(sandbox);
        let name = &sandbox.spec.name;
        let io_error = |source| DiscardError::Write {
            name: name.clone(),
            source,
        };
        let pool = UpperPool::existing(&sandbox.files).map_err(io_error)?;
        let disks_error = |source| DiscardError::Disks {
            name: name.clone(),
            source,
        };
        let open = OpenUpper::of_locked(sandbox).map_err(disks_error)?;
        let mounts = &sandbox.spec.mounts;
        let scopes = Scopes::of_sandbox(&options.scope, &sandbox.spec);
        if scopes.root.is_some() || options.base.is_some() {
            sandbox.check_has_overlay()?;
        }
        let root = Arc::new(open.root(home).map_err(disks_error)?);
        let now = DiskSide::of_disks(root, mounts).with_given(sandbox);
        let base = claimed.base_side(&now, options.base, home)?;
        let chosen = options.chosen.as_ref();
        let root = claimed.area((now, base), scopes.root, chosen)?;
        let staged = match open.staged(home).map_err(disks_error)? {
            None => None,
            Some(disks) => {
                let now = DiskSide::of_disks(Arc::new(disks), mounts);
                let base = BaseSide {
                    side: now.image_below(),
                    is_complete: true,
                };
                Some(claimed.area((now, base), scopes.staged, chosen)?)
            }
        };
        drop(open);
        let areas = || iter::once(&root).chain(&staged);
        let mut listed = Vec::new();
        for area in areas() {
            let made = area.changes.iter().filter(|change| !change.is_implied);
            listed.extend(made.map(|change| Discarded {
                path: change.path.clone(),
                kind: change.kind,
            }));
        }
        if !options.is_dry_run && !listed.is_empty() {
            let upper = claimed.upper_tree(&root, staged.as_ref(), home)?;
            // The old disk is not read any more once the new one is written.
            claimed.write_upper(upper, &pool, (root, staged), None)?;
        }
        Ok(listed)
    }
}

/// A sandbox whose changes are taken back.
#[derive(Debug)]
pub struct Discarding<'a> {
    sandbox: &'a Sandbox,
}

impl<'a> Discarding<'a> {
    /// Returns the sandbox as one whose changes may be taken back; nothing is read or made.
    pub const fn new(sandbox: &'a Sandbox) -> Self {
        Self { sandbox }
    }

    /// Takes changes of the stopped sandbox back: their files are then what the sandbox began with, or
    /// those of another base. Everything else stays as it is. Returns the changes that are made, of a
    /// deleted directory only itself.
    ///
    /// The sandbox has its old disk or its new one, whenever the process is killed or the host loses
    /// power.
    ///
    /// # Errors
    /// If the sandbox runs, its disks cannot be read, a path has no directory to be in, there is no copy
    /// of a file that would be deleted, the new disk cannot be written, or an apply to a staged directory was
    /// killed and cannot be finished.
    pub fn discard(
        &self,
        home: &Home,
        options: DiscardOptions,
    ) -> Result<Vec<Discarded>, DiscardError> {
        self.sandbox.check_has_changes()?;
        Scope::of_paths(&options.scope.paths)?;
        if !options.is_dry_run {
            finish_applying(home, &self.sandbox.spec.mounts)?;
        }
        ClaimedSandbox::new(self.sandbox)?.discard(home, options)
    }

    /// Finds the changes of a filesystem that are taken back: none without a scope.
    fn area(
        &self,
        (now, base): (DiskSide, BaseSide),
        scope: Option<ChangeScope>,
        chosen: Option<&HashSet<Vec<u8>>>,
    ) -> Result<Area, DiscardError> {
        let changes = match &scope {
            Some(scope) => diff::changes(&now, &base.side, scope),
            None => Ok(Vec::new()),
        };
        let mut changes = changes.map_err(|source| self.diff_error(source))?;
        if let Some(chosen) = chosen {
            leave_out(
                &mut changes,
                |change| !chosen.contains(&change.path),
                |change| change.new.is_some_and(|id| base.side.is_directory(id)),
            );
        }
        base.check(self.sandbox, &changes)?;
        Ok(Area {
            now,
            base,
            scope,
            is_chosen: chosen.is_some(),
            changes,
        })
    }

    /// Opens the files that changes are taken back to.
    fn base_side(
        &self,
        now: &DiskSide,
        chosen: Option<DiffSide>,
        home: &Home,
    ) -> Result<BaseSide, DiscardError> {
        if self.sandbox.spec.native_root {
            // None of the root's files is taken back.
            return Ok(BaseSide {
                side: now.image_below(),
                is_complete: true,
            });
        }
        let Some(chosen) = chosen else {
            let base = self.sandbox.base().map_err(|source| DiscardError::Disks {
                name: self.sandbox.spec.name.clone(),
                source: source.into(),
            })?;
            let side = now.of_base(self.sandbox, home);
            return Ok(BaseSide {
                side: side.map_err(|source| self.diff_error(source))?,
                is_complete: !matches!(base, Base::Missing),
            });
        };
        let side = chosen.open(home);
        Ok(BaseSide {
            side: side.map_err(|source| self.diff_error(source))?,
            is_complete: true,
        })
    }

    /// Returns the content of the new upper disk.
    fn upper_tree(
        &self,
        root: &Area,
        staged: Option<&Area>,
        home: &Home,
    ) -> Result<NewUpper, DiscardError> {
        let mut upper = self.upper_of_root(&root.now, home, |upper| root.layer(upper))?;
        if let Some(staged) = staged {
            let above = staged.layer(&mut upper.tree)?;
            let mounts = &self.sandbox.spec.mounts;
            add_staged_layers(&mut upper.tree, above, &staged.now, mounts);
        }
        Ok(upper)
    }

    /// Returns the content of a new upper disk with the root's files as they are in `root`, and with the staged
    /// directories over the image of `new`: `staged` adds the directory with their changes, each below its path.
    pub(crate) fn upper_of_unchanged(
        &self,
        root: &DiskSide,
        home: &Home,
        (new, staged): (&DiskSide, AddLayer<'_>),
    ) -> Result<NewUpper, DiscardError> {
        let (scope, nothing) = (Scope::everything(), HashSet::new());
        let taken = Taken {
            scope: &scope,
            paths: Some(&nothing),
        };
        let image = root.image_below();
        let unchanged = |upper: &mut Tree<DiskFile>| layer(root, &image, &taken, upper);
        let mut upper = self.upper_of_root(root, home, unchanged)?;
        let above = staged(&mut upper.tree);
        add_staged_layers(&mut upper.tree, above, new, &self.sandbox.spec.mounts);
        Ok(upper)
    }

    /// Returns the content of a new upper disk without staged directories. `layer` adds the upper directory of the
    /// root's overlay; the files of a native root stay as they are.
    fn upper_of_root(
        &self,
        root: &DiskSide,
        home: &Home,
        layer: impl FnOnce(&mut Tree<DiskFile>) -> Result<InodeId, DiscardError>,
    ) -> Result<NewUpper, DiscardError> {
        let mut upper = if self.sandbox.spec.native_root {
            self.with_native_root(root.disks())?
        } else {
            let mut tree = Tree::new(Metadata::directory(0o755));
            let directory = layer(&mut tree)?;
            let work = tree.add(Inode::directory(Metadata::directory(0o700)));
            name_at_top(&mut tree, "upper", directory);
            name_at_top(&mut tree, "work", work);
            NewUpper::new(tree)
        };
        if let Some(hosts) = self.added_hosts(home)? {
            let hosts = upper.tree.add(DiskFile::inode(hosts));
            name_at_top(&mut upper.tree, "hosts", hosts);
        }
        Ok(upper)
    }

    fn diff_error(&self, source: DiffError) -> DiscardError {
        DiscardError::Diff {
            name: self.sandbox.spec.name.clone(),
            source,
        }
    }

    /// Returns the extra lines of `/etc/hosts` on the upper disk; `None` if there are none.
    fn added_hosts(&self, home: &Home) -> Result<Option<Vec<u8>>, DiscardError> {
        let name = || self.sandbox.spec.name.clone();
        let disk = open_upper(self.sandbox).map_err(|source| DiscardError::Disks {
            name: name(),
            source,
        })?;
        let lines = added_hosts_on(disk, home.disk_metadata_bytes());
        lines.map_err(|source| DiscardError::Write {
            name: name(),
            source,
        })
    }
}

/// Names a file of the root directory of an upper disk.
fn name_at_top(upper: &mut Tree<DiskFile>, name: &str, id: InodeId) {
    let name = Name::new(name.as_bytes()).expect("a plain word");
    upper.link(upper.root(), name, id);
}

/// Adds a directory to the tree of a new upper disk, without a name.
pub(crate) type AddLayer<'a> = &'a dyn Fn(&mut Tree<DiskFile>) -> InodeId;

/// A filesystem of the sandbox, and the changes in it that are taken back.
struct Area {
    now: DiskSide,
    base: BaseSide,
    /// `None` if no change of it is taken back.
    scope: Option<ChangeScope>,
    /// True if only some of the changes in the scope are taken back.
    is_chosen: bool,
    changes: Vec<Change>,
}

impl Area {
    /// Adds to the tree of the new upper disk the directory that makes overlayfs show the files as they are
    /// once the changes are taken back. Returns the directory, which has no name yet.
    fn layer(&self, upper: &mut Tree<DiskFile>) -> Result<InodeId, DiscardError> {
        let nothing = ChangeScope::default();
        let scope = Scope::of_paths(&self.scope.as_ref().unwrap_or(&nothing).paths)?;
        let paths = self.changes.iter().map(|change| change.path.clone());
        let paths = paths.collect();
        // The files that msb gave the guest are no changes, and stay.
        let has_others = self.is_chosen || self.now.has_given();
        let keeps_all =
            !has_others && (self.scope.as_ref()).is_some_and(|scope| scope.filter.keeps_all());
        let taken = Taken {
            scope: &scope,
            paths: (!keeps_all).then_some(&paths),
        };
        layer(&self.now, &self.base.side, &taken, upper)
    }
}

/// Adds to the tree of a new upper disk the directory that makes overlayfs show the files of `now`, with those of
/// `base` where changes are taken back. Returns the directory, which has no name yet.
fn layer(
    now: &DiskSide,
    base: &DiskSide,
    taken: &Taken<'_>,
    upper: &mut Tree<DiskFile>,
) -> Result<InodeId, DiscardError> {
    let disks = now.disks();
    let origin = |id| base.origin_over(disks.as_ref(), id);
    let tree = BaseTree {
        tree: base.tree(),
        origin: &origin,
    };
    let wanted = wanted(&disks.view, &tree, taken)?;
    let on_disk = |wanted: &WantedContent| {
        let disks = if wanted.is_of_base {
            base.disks()
        } else {
            disks
        };
        DiskFile::on_disk(disks, &wanted.content)
    };
    Ok(rootfs_view::layer(
        disks.view.image(),
        &wanted,
        on_disk,
        upper,
    ))
}

/// Puts the layers of the staged directories, which are below `above` by the directories' paths, where the
/// guest mounts them. A directory without changes gets an empty layer.
fn add_staged_layers(upper: &mut Tree<DiskFile>, above: InodeId, now: &DiskSide, mounts: &[Mount]) {
    let targets = staged_targets(mounts);
    let image = now.disks().view.image();
    add_staged(upper, targets.len(), |number, upper| {
        let mut names = path_names(&targets[number]);
        let found = names.try_fold(above, |directory, name| upper.lookup(directory, name));
        found.unwrap_or_else(|| {
            let unchanged = image.find(&targets[number]).unwrap_or(image.root());
            let metadata = rootfs_view::stored(&image.inode(unchanged).metadata);
            upper.add(Inode::directory(metadata))
        })
    });
}

fn path_names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/')
        .filter(|name| !name.is_empty())
}

/// The files that changes are taken back to.
struct BaseSide {
    side: DiskSide,
    /// False if the sandbox may have begun with files that this side does not have.
    is_complete: bool,
}

impl BaseSide {
    /// Checks that nothing is deleted that the sandbox may have begun with.
    fn check(&self, sandbox: &Sandbox, changes: &[Change]) -> Result<(), DiscardError> {
        let mut deleted = changes.iter().filter(|change| change.new.is_none());
        match deleted.next().filter(|_| !self.is_complete) {
            Some(change) => Err(DiscardError::NotKept {
                name: sandbox.spec.name.clone(),
                path: change.path.clone(),
            }),
            None => Ok(()),
        }
    }
}

fn added_hosts_on(disk: DiskReader, metadata_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let disk = ext4_writer::Image::open_within(disk, metadata_bytes);
    let disk = disk.map_err(io::Error::other)?;
    let tree = disk.read_tree().map_err(io::Error::other)?;
    let hosts = tree.find(b"hosts").map(|id| &tree.inode(id).kind);
    let Some(FileKind::Regular(data)) = hosts else {
        return Ok(None);
    };
    let mut lines = Vec::new();
    let hosts = disk.file_reader(data);
    hosts.take(HOSTS_MAX_BYTES).read_to_end(&mut lines)?;
    Ok(Some(lines))
}
