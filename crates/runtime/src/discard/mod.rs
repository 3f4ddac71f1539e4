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
use rootfs_view::Content;
use tree_diff::Scope;

use content::DiskFile;
pub use error::DiscardError;
use wanted::wanted;

use crate::disks::{DiskReader, Disks, open_upper};
use crate::sandbox::{NewDisk, UpperPool, upper_options};
use crate::snapshots::StagedDisk;
use crate::{Home, Sandbox, SnapshotError};

/// The longest file of extra hosts on an upper disk, as the agent reads it, in bytes.
const HOSTS_MAX_BYTES: u64 = 1 << 20;

impl Sandbox {
    /// Takes back all changes of the stopped sandbox at and below these paths, which then are what
    /// the image has. Everything else stays as it is.
    ///
    /// The sandbox has its old disk or its new one, whenever the process is killed or the host loses
    /// power.
    ///
    /// # Errors
    /// If the sandbox runs, its disks cannot be read, a path has no directory to be in, or the new
    /// disk cannot be written.
    pub fn discard(&self, home: &Home, paths: &[Vec<u8>]) -> Result<(), DiscardError> {
        let name = &self.spec.name;
        let io_error = |source| DiscardError::Write {
            name: name.clone(),
            source,
        };
        self.check_has_overlay()?;
        let scope = Scope::of_paths(paths)?;
        let claimed = self.claim().map_err(io_error)?;
        let (sandbox, _lock) =
            claimed.ok_or_else(|| DiscardError::Running { name: name.clone() })?;
        let pool = UpperPool::find(&sandbox.files).map_err(io_error)?;
        let disks = Disks::of_locked(&sandbox, home).map_err(|source| DiscardError::Disks {
            name: name.clone(),
            source,
        })?;
        let disks = Arc::new(disks);
        let tree = wanted(&disks.view, &scope)?;
        let mut upper = Tree::new(Metadata::directory(0o755));
        let on_disk = |content: &Content| DiskFile::on_disk(&disks, content);
        let directory = rootfs_view::layer(disks.view.image(), &tree, on_disk, &mut upper);
        let work = upper.add(Inode::directory(Metadata::directory(0o700)));
        let mut made = vec![("upper", directory), ("work", work)];
        if let Some(hosts) = sandbox.added_hosts()? {
            made.push(("hosts", upper.add(DiskFile::inode(hosts))));
        }
        for (name, id) in made {
            let name = Name::new(name.as_bytes()).expect("a plain word");
            upper.link(upper.root(), name, id);
        }
        let Some(pool) = pool else {
            return sandbox.replace_upper(&upper);
        };
        let written = sandbox.stage_upper(&upper, &pool)?;
        // The old disk is not read any more.
        drop((upper, disks));
        let replaced = written.replace(&sandbox, &pool);
        replaced.map_err(|source| sandbox.snapshot_error(source))
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
    fn added_hosts(&self) -> Result<Option<Vec<u8>>, DiscardError> {
        let name = || self.spec.name.clone();
        let disk = open_upper(self).map_err(|source| DiscardError::Disks {
            name: name(),
            source,
        })?;
        let lines = added_hosts_on(disk);
        lines.map_err(|source| DiscardError::Write {
            name: name(),
            source,
        })
    }
}

fn added_hosts_on(disk: DiskReader) -> io::Result<Option<Vec<u8>>> {
    let disk = ext4_writer::Image::open(disk).map_err(io::Error::other)?;
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
