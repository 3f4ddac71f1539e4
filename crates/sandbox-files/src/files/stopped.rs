//! The files of a stopped sandbox, read from its disks.

use std::io::{self, Write as _};
use std::sync::Arc;

use fstree::{FileKind, InodeId};
use msb_agent_protocol::v1::{FileStat, ListEntry};
use msb_agent_protocol::{Bytes, ChunkWriter};
use msb_runtime::{Home, Sandbox, Target, staged};
use rootfs_view::{Content, ResolveError};
use rustix::io::Errno;
use tokio::sync::mpsc;
use tree_archive::ArchiveWriter;

use super::covered::Covered;
use super::describe::describe;
use super::pack_view::pack_view;
use super::{ByteStream, FilesError};
use crate::SandboxAtRest;
use crate::disks::{Disks, OpenUpper};

/// Chunks of a file in the channel to its reader.
const PENDING_CHUNKS: usize = 4;
/// Bytes of a file that are read at a time.
const PIECE_BYTES: u64 = 64 << 10;

/// The disks of a stopped sandbox, which cannot be started while this value lives, or of a snapshot.
#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) name: String,
    root: Arc<Filesystem>,
    /// The staged directories, each at its path; `None` if there are none.
    staged: Option<Arc<Filesystem>>,
    /// The paths in the sandbox of the staged directories.
    targets: Vec<Target>,
}

/// The root filesystem of a stopped sandbox, or its staged directories.
#[derive(Debug)]
struct Filesystem {
    /// The name of the sandbox, for errors.
    name: String,
    disks: Disks,
    covered: Covered,
}

impl Stopped {
    /// Opens the disks; `None` if the sandbox runs.
    pub(super) fn open(sandbox: &Sandbox, home: &Home) -> Result<Option<Self>, FilesError> {
        let name = sandbox.spec.name.clone();
        let stopped = SandboxAtRest::stopped(sandbox).map_err(|error| FilesError::Disks {
            name: name.clone(),
            source: error.into(),
        })?;
        let opened = stopped.map(|at_rest| Self::at_rest(name, at_rest, home));
        opened.transpose()
    }

    /// Opens disks that do not change; errors have this name.
    pub(super) fn at_rest(
        name: String,
        at_rest: SandboxAtRest,
        home: &Home,
    ) -> Result<Self, FilesError> {
        let failed = |source| FilesError::Disks {
            name: name.clone(),
            source,
        };
        let spec = at_rest.sandbox.spec.clone();
        let upper = OpenUpper::new(at_rest).map_err(failed)?;
        let targets: Vec<Target> = staged(&spec.mounts)
            .map(|(mount, _)| mount.target.clone())
            .collect();
        let filesystem = |disks: Disks, covered: Vec<Target>| {
            Arc::new(Filesystem {
                name: name.clone(),
                covered: Covered::new(covered, &disks.view),
                disks,
            })
        };
        let covered = spec.covered_targets();
        let others = covered.iter().filter(|target| !targets.contains(target));
        let others = others.cloned().collect();
        let staged = upper.staged(home).map_err(failed)?;
        Ok(Self {
            root: filesystem(upper.root(home).map_err(failed)?, covered),
            staged: staged.map(|disks| filesystem(disks, others)),
            targets,
            name,
        })
    }

    /// Returns the filesystem that a path is on: that of the staged directories if it is in one of them.
    fn at(&self, path: &[u8]) -> &Arc<Filesystem> {
        let is_staged = self.targets.iter().any(|target| target.covers(path));
        self.staged
            .as_ref()
            .filter(|_| is_staged)
            .unwrap_or(&self.root)
    }

    pub(super) fn stat(&self, path: &[u8], follow: bool) -> Result<FileStat, FilesError> {
        self.at(path).stat(path, follow)
    }

    pub(super) fn list(&self, path: &[u8]) -> Result<Vec<ListEntry>, FilesError> {
        self.at(path).list(path)
    }

    pub(super) fn read(&self, path: &[u8]) -> Result<ByteStream, FilesError> {
        self.at(path).read(path)
    }

    pub(super) fn get_archive(
        &self,
        path: &[u8],
        name: &[u8],
        one_file_system: bool,
    ) -> Result<ByteStream, FilesError> {
        self.at(path).get_archive(path, name, one_file_system)
    }
}

impl Filesystem {
    fn stat(&self, path: &[u8], follow: bool) -> Result<FileStat, FilesError> {
        self.find("inspect", path, follow)
            .map(|id| describe(self.disks.view.tree().inode(id)))
    }

    fn list(&self, path: &[u8]) -> Result<Vec<ListEntry>, FilesError> {
        let id = self.find("open", path, true)?;
        let names = self.disks.view.tree().directory(id);
        let names = names.ok_or_else(|| refused("open", path, Errno::NOTDIR))?;
        let entries = names.iter().map(|(name, &id)| ListEntry {
            name: Bytes::copy_from_slice(name.as_bytes()),
            stat: Some(describe(self.disks.view.tree().inode(id))),
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    fn read(self: &Arc<Self>, path: &[u8]) -> Result<ByteStream, FilesError> {
        let id = self.find("open", path, true)?;
        let content = match &self.disks.view.tree().inode(id).kind {
            FileKind::Regular(content) => content.clone(),
            FileKind::Directory(_) => return Err(refused("read", path, Errno::ISDIR)),
            _ => return Err(refused("read", path, Errno::NXIO)),
        };
        let (this, path) = (Arc::clone(self), path.to_vec());
        Ok(stream(move |sender| {
            this.send_content(&content, sender)
                .map_err(|source| FilesError::Path {
                    action: "read",
                    path: path.as_slice().into(),
                    source,
                })
        }))
    }

    fn get_archive(
        self: &Arc<Self>,
        path: &[u8],
        name: &[u8],
        one_file_system: bool,
    ) -> Result<ByteStream, FilesError> {
        let id = self.find("inspect", path, false)?;
        if !one_file_system && let Some(target) = self.covered.below(self.disks.view.tree(), id) {
            return Err(FilesError::MountBelow {
                path: path.into(),
                name: self.name.clone(),
                target: target.clone(),
            });
        }
        let (this, name) = (Arc::clone(self), name.to_vec());
        Ok(stream(move |sender| {
            let send = |chunk| sender.blocking_send(Ok(chunk)).is_ok();
            let mut archive = ArchiveWriter::new(ChunkWriter::new(send));
            pack_view(
                &this.disks.view,
                id,
                &name,
                Some(&this.covered),
                &mut archive,
            )?;
            // A closed receiver needs no end of the archive.
            let _ = archive.finish();
            Ok(())
        }))
    }

    /// Sends a file's content, holes as zeros.
    fn send_content(
        &self,
        content: &Content,
        sender: &mpsc::Sender<Result<Bytes, FilesError>>,
    ) -> io::Result<()> {
        let mut out = ChunkWriter::new(|chunk| sender.blocking_send(Ok(chunk)).is_ok());
        let mut position = 0;
        while position < content.size_bytes() {
            let length = PIECE_BYTES.min(content.size_bytes() - position);
            let mut buffer = vec![0; usize::try_from(length).map_err(io::Error::other)?];
            self.disks
                .view
                .read_at(content, position, &mut buffer)
                .map_err(io::Error::other)?;
            if out.write_all(&buffer).is_err() {
                return Ok(());
            }
            position += length;
        }
        // A closed receiver needs no end of the content.
        let _ = out.flush();
        Ok(())
    }

    fn find(&self, action: &'static str, path: &[u8], follow: bool) -> Result<InodeId, FilesError> {
        let found = self.disks.view.resolve(path, follow).map_err(|error| {
            let errno = match error {
                ResolveError::NotFound => Errno::NOENT,
                ResolveError::NotDirectory => Errno::NOTDIR,
                ResolveError::Loop => Errno::LOOP,
            };
            refused(action, path, errno)
        });
        if let Some(target) = self.covered.at(path, found.as_ref().ok()) {
            return Err(self.mounted(path, target));
        }
        found
    }

    fn mounted(&self, path: &[u8], target: &Target) -> FilesError {
        FilesError::Mounted {
            path: path.into(),
            name: self.name.clone(),
            target: target.clone(),
        }
    }
}

fn refused(action: &'static str, path: &[u8], errno: Errno) -> FilesError {
    FilesError::Path {
        action,
        path: path.into(),
        source: errno.into(),
    }
}

/// Runs work that sends chunks, on a thread that may block; its error is sent last.
fn stream(
    work: impl FnOnce(&mpsc::Sender<Result<Bytes, FilesError>>) -> Result<(), FilesError>
    + Send
    + 'static,
) -> ByteStream {
    let (sender, chunks) = mpsc::channel(PENDING_CHUNKS);
    tokio::task::spawn_blocking(move || {
        if let Err(error) = work(&sender) {
            // The receiver may be closed.
            let _ = sender.blocking_send(Err(error));
        }
    });
    ByteStream::from_host(chunks)
}
