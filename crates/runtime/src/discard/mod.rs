//! Changes of a stopped sandbox, taken back: a new writable disk is written beside the old one, and
//! takes its place when it is complete. Snapshots of the old one stay as they are.

mod content;
mod error;
#[cfg(test)]
mod tests;
mod wanted;

use std::io::{self, Read as _};
use std::sync::Arc;

use ext4_writer::WriteError;
use fs_err as fs;
use fstree::{FileKind, Inode, Metadata, Name, Tree};
use tree_diff::{Change, ChangeKind, Scope, Side as _};

use content::DiskFile;
pub use error::DiscardError;
use wanted::{BaseTree, Taken, WantedContent, wanted};

use crate::diff::{self, DiskSide};
use crate::disks::{DiskReader, Disks, open_upper};
use crate::sandbox::{Base, NewDisk, UpperPool, upper_options};
use crate::snapshots::StagedDisk;
use crate::{ChangeScope, DiffError, DiffSide, Home, Sandbox, SnapshotError};

/// The longest file of extra hosts on an upper disk, as the agent reads it, in bytes.
const HOSTS_MAX_BYTES: u64 = 1 << 20;

/// Options for changes that are taken back.
#[derive(Debug, Default)]
pub struct DiscardOptions {
    /// The changes, by their paths.
    pub scope: ChangeScope,
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

impl Sandbox {
    /// Takes changes of the stopped sandbox back: their files are then what the sandbox began with, or
    /// those of another base. Everything else stays as it is. Returns the changes that are made, of a
    /// deleted directory only itself.
    ///
    /// The sandbox has its old disk or its new one, whenever the process is killed or the host loses
    /// power.
    ///
    /// # Errors
    /// If the sandbox runs, its disks cannot be read, a path has no directory to be in, there is no copy
    /// of a file that would be deleted, or the new disk cannot be written.
    pub fn discard(
        &self,
        home: &Home,
        options: DiscardOptions,
    ) -> Result<Vec<Discarded>, DiscardError> {
        let name = &self.spec.name;
        let io_error = |source| DiscardError::Write {
            name: name.clone(),
            source,
        };
        self.check_has_overlay()?;
        let scope = Scope::of_paths(&options.scope.paths)?;
        let claimed = self.claim().map_err(io_error)?;
        let (sandbox, _lock) =
            claimed.ok_or_else(|| DiscardError::Running { name: name.clone() })?;
        let pool = UpperPool::find(&sandbox.files).map_err(io_error)?;
        let disks = Disks::of_locked(&sandbox, home).map_err(|source| DiscardError::Disks {
            name: name.clone(),
            source,
        })?;
        let disks = Arc::new(disks);
        let now = DiskSide::of_disks(Arc::clone(&disks), &sandbox.spec.mounts);
        let base = sandbox.base_side(&now, options.base, home)?;
        let changes = diff::changes(&now, &base.side, &options.scope);
        let changes = changes.map_err(|source| sandbox.diff_error(source))?;
        base.check(&sandbox, &changes)?;
        if !options.is_dry_run && !changes.is_empty() {
            let paths = changes.iter().map(|change| change.path.clone()).collect();
            let taken = Taken {
                scope: &scope,
                paths: (!options.scope.filter.keeps_all()).then_some(&paths),
            };
            let origin = |id| base.side.origin_over(disks.as_ref(), id);
            let tree = BaseTree {
                tree: base.side.tree(),
                origin: &origin,
            };
            let tree = wanted(&disks.view, &tree, &taken)?;
            let upper = sandbox.upper_tree(&disks, base.side.disks(), &tree, home)?;
            // The old disk is not read any more once the new one is written.
            let readers = (now, base, disks);
            sandbox.write_upper(upper, pool, readers)?;
        }
        let listed = changes.into_iter().filter(|change| !change.is_implied);
        let listed = listed.map(|change| Discarded {
            path: change.path,
            kind: change.kind,
        });
        Ok(listed.collect())
    }

    /// Opens the files that changes are taken back to.
    fn base_side(
        &self,
        now: &DiskSide,
        chosen: Option<DiffSide>,
        home: &Home,
    ) -> Result<BaseSide, DiscardError> {
        let Some(chosen) = chosen else {
            let base = self.base().map_err(|source| DiscardError::Disks {
                name: self.spec.name.clone(),
                source: source.into(),
            })?;
            let side = now.of_base(self, home);
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

    /// Returns the tree of the new upper disk.
    fn upper_tree(
        &self,
        disks: &Arc<Disks>,
        base: &Arc<Disks>,
        wanted: &Tree<WantedContent>,
        home: &Home,
    ) -> Result<Tree<DiskFile>, DiscardError> {
        let mut upper = Tree::new(Metadata::directory(0o755));
        let on_disk = |wanted: &WantedContent| {
            let disks = if wanted.is_of_base { base } else { disks };
            DiskFile::on_disk(disks, &wanted.content)
        };
        let directory = rootfs_view::layer(disks.view.image(), wanted, on_disk, &mut upper);
        let work = upper.add(Inode::directory(Metadata::directory(0o700)));
        let mut made = vec![("upper", directory), ("work", work)];
        if let Some(hosts) = self.added_hosts(home)? {
            made.push(("hosts", upper.add(DiskFile::inode(hosts))));
        }
        for (name, id) in made {
            let name = Name::new(name.as_bytes()).expect("a plain word");
            upper.link(upper.root(), name, id);
        }
        Ok(upper)
    }

    /// Writes the new upper disk, of either form, and puts it in the place of the old one. `readers` read the
    /// old one.
    fn write_upper<T>(
        &self,
        upper: Tree<DiskFile>,
        pool: Option<UpperPool>,
        readers: T,
    ) -> Result<(), DiscardError> {
        let Some(pool) = pool else {
            return self.replace_upper(&upper);
        };
        let written = self.stage_upper(&upper, &pool)?;
        drop((upper, readers));
        let replaced = written.replace(self, &pool);
        replaced.map_err(|source| self.snapshot_error(source))
    }

    fn diff_error(&self, source: DiffError) -> DiscardError {
        DiscardError::Diff {
            name: self.spec.name.clone(),
            source,
        }
    }

    /// Writes a new upper disk for a sandbox whose disk is one of generations.
    fn stage_upper(
        &self,
        tree: &Tree<DiskFile>,
        pool: &UpperPool,
    ) -> Result<StagedDisk, DiscardError> {
        let old_bytes = pool.size_bytes().map_err(SnapshotError::from);
        let old_bytes = old_bytes.map_err(|source| self.snapshot_error(source))?;
        // A disk that was to be larger from the next start on is that now.
        let size_bytes = self.spec.upper_bytes.max(old_bytes);
        let options = upper_options(&self.spec, size_bytes);
        let write = |output: NewDisk<'_>| ext4_writer::write(tree, &options, output).map(drop);
        let written = self.stage_disk(size_bytes, write);
        let written = written.map_err(|source| self.snapshot_error(source))?;
        written.map_err(|source| self.layout_error(source, size_bytes))
    }

    fn snapshot_error(&self, source: SnapshotError) -> DiscardError {
        DiscardError::Generations {
            name: self.spec.name.clone(),
            source,
        }
    }

    fn layout_error(&self, source: WriteError, size_bytes: u64) -> DiscardError {
        let name = self.spec.name.clone();
        match source {
            WriteError::Full { .. } => DiscardError::Full { name, size_bytes },
            source => DiscardError::Layout { name, source },
        }
    }

    /// Writes a new upper disk, which then takes the place of the old one.
    fn replace_upper(&self, tree: &Tree<DiskFile>) -> Result<(), DiscardError> {
        let name = || self.spec.name.clone();
        let path = self.files.upper();
        let old = fs::metadata(&path).map_err(|source| DiscardError::Write {
            name: name(),
            source,
        })?;
        // A disk that was to be larger from the next start on is that now.
        let size_bytes = self.spec.upper_bytes.max(old.len());
        let options = upper_options(&self.spec, size_bytes);
        let mut failed = None;
        let published = durable_files::publish(&path, |file| {
            let written = ext4_writer::write(tree, &options, &*file);
            written.map(drop).map_err(|error| {
                failed = Some(error);
                io::Error::other("the disk was not written")
            })
        });
        match (published, failed) {
            (Ok(()), _) => Ok(()),
            (Err(_), Some(source)) => Err(self.layout_error(source, size_bytes)),
            (Err(source), None) => Err(DiscardError::Write {
                name: name(),
                source,
            }),
        }
    }

    /// Returns the extra lines of `/etc/hosts` on the upper disk; `None` if there are none.
    fn added_hosts(&self, home: &Home) -> Result<Option<Vec<u8>>, DiscardError> {
        let name = || self.spec.name.clone();
        let disk = open_upper(self).map_err(|source| DiscardError::Disks {
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
