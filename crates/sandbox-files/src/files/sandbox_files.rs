use std::sync::Arc;

use msb_agent_protocol::v1::{
    FileStat, GetArchiveRequest, ListEntry, MakeDirectoryRequest, PutArchive, PutArchiveReply,
    RemoveRequest, RenameRequest, SetModeRequest, WriteFile,
};
use msb_agent_protocol::{Bytes, Client};
use msb_runtime::{ConnectError, Home, Sandbox};
use tokio::sync::mpsc;

use super::guest_answer::{check_entry, checked_stat};
use super::stopped::Stopped;
use super::{ByteStream, CopyError, FilesError};
use crate::SandboxAtRest;

/// Memory limit of one listing: a guest may send names indefinitely.
const LISTING_MAX_BYTES: usize = 512 << 20;

/// The files of one sandbox.
/// Paths start at its root; symlinks are followed as they are for a process in the sandbox.
#[derive(Debug, Clone)]
pub struct SandboxFiles {
    name: String,
    access: Access,
}

#[derive(Debug, Clone)]
enum Access {
    /// The agent reads and writes the files.
    Running(Box<Client>),
    /// The files are read from the disks.
    Stopped(Arc<Stopped>),
    /// The files are read from the disks, as they are in a snapshot.
    Snapshot(Arc<Stopped>),
}

impl SandboxFiles {
    /// Returns the files of the running sandbox with this name.
    pub fn from_running(name: &str, client: Client) -> Self {
        Self {
            name: name.to_owned(),
            access: Access::Running(Box::new(client)),
        }
    }

    /// Opens the files of a snapshot, whose errors have this name.
    ///
    /// # Errors
    /// If the disks cannot be read.
    pub fn of_snapshot(
        name: String,
        at_rest: SandboxAtRest,
        home: &Home,
    ) -> Result<Self, FilesError> {
        let opened = Stopped::at_rest(name.clone(), at_rest, home)?;
        Ok(Self {
            name,
            access: Access::Snapshot(Arc::new(opened)),
        })
    }

    /// Returns the error as one of this sandbox's side of a copy.
    pub(super) fn failed(&self, error: impl Into<CopyError>) -> CopyError {
        CopyError::in_sandbox(&self.name, error)
    }

    /// Returns a file's attributes; with `follow`, those of a symlink's target.
    ///
    /// # Errors
    /// If the file cannot be inspected.
    pub async fn stat(&self, path: &[u8], follow: bool) -> Result<FileStat, FilesError> {
        let path = Bytes::copy_from_slice(path);
        match &self.access {
            Access::Running(client) => checked_stat(client.clone().stat(path, follow).await?),
            Access::Stopped(disks) | Access::Snapshot(disks) => disks.stat(&path, follow),
        }
    }

    /// Returns the entries of a directory, in bytewise order of the names.
    ///
    /// # Errors
    /// If the directory cannot be read, or the agent answers with a name or attributes that no file has.
    pub async fn list(&self, path: &[u8]) -> Result<Vec<ListEntry>, FilesError> {
        let path = Bytes::copy_from_slice(path);
        match &self.access {
            Access::Running(client) => {
                let mut listing = client.clone().list(path.clone()).await?;
                let (mut entries, mut taken_bytes) = (Vec::new(), 0);
                while let Some(more) = listing.next().await? {
                    taken_bytes += more.iter().map(memory_bytes).sum::<usize>();
                    if taken_bytes > LISTING_MAX_BYTES {
                        return Err(FilesError::TooManyNames {
                            path: (&path[..]).into(),
                            limit_bytes: LISTING_MAX_BYTES,
                        });
                    }
                    more.iter().try_for_each(check_entry)?;
                    entries.extend(more.into_iter().map(apart));
                }
                Ok(entries)
            }
            Access::Stopped(disks) | Access::Snapshot(disks) => disks.list(&path),
        }
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub async fn read(&self, path: &[u8]) -> Result<ByteStream, FilesError> {
        let path = Bytes::copy_from_slice(path);
        match &self.access {
            Access::Running(client) => {
                let content = client.clone().read_file(path).await?;
                Ok(ByteStream::from_guest(content))
            }
            Access::Stopped(disks) | Access::Snapshot(disks) => disks.read(&path),
        }
    }

    /// Removes a file.
    ///
    /// # Errors
    /// If the file cannot be removed, and always in a stopped sandbox or a snapshot.
    pub async fn remove(&self, request: RemoveRequest) -> Result<(), FilesError> {
        Ok(self.running()?.remove(request).await?)
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// If the directory cannot be made, and always in a stopped sandbox or a snapshot.
    pub async fn make_directory(&self, request: MakeDirectoryRequest) -> Result<(), FilesError> {
        Ok(self.running()?.make_directory(request).await?)
    }

    /// Makes or replaces a file. The content comes in chunks, `None` at its end; see
    /// [`Client::write_file`].
    ///
    /// # Errors
    /// If the file cannot be written, and always in a stopped sandbox or a snapshot.
    pub async fn write_file(
        &self,
        start: WriteFile,
        chunks: mpsc::Receiver<Option<Bytes>>,
    ) -> Result<(), FilesError> {
        Ok(self.running()?.write_file(start, chunks).await?)
    }

    /// Renames a file.
    ///
    /// # Errors
    /// If the file cannot be renamed, and always in a stopped sandbox or a snapshot.
    pub async fn rename(&self, request: RenameRequest) -> Result<(), FilesError> {
        Ok(self.running()?.rename(request).await?)
    }

    /// Sets a file's permission bits.
    ///
    /// # Errors
    /// If the bits cannot be set, and always in a stopped sandbox or a snapshot.
    pub async fn set_mode(&self, request: SetModeRequest) -> Result<(), FilesError> {
        Ok(self.running()?.set_mode(request).await?)
    }

    /// Returns a file, or a directory and its content, as a tar archive whose root is `name`.
    /// With `one_file_system`, mounts in the directory are left out.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub async fn get_archive(
        &self,
        path: &[u8],
        name: &[u8],
        one_file_system: bool,
    ) -> Result<ByteStream, FilesError> {
        match &self.access {
            Access::Running(client) => {
                let request = GetArchiveRequest {
                    path: Bytes::copy_from_slice(path),
                    name: Bytes::copy_from_slice(name),
                    one_file_system,
                };
                let archive = client.clone().get_archive(request).await?;
                Ok(ByteStream::from_guest(archive))
            }
            Access::Stopped(disks) | Access::Snapshot(disks) => {
                disks.get_archive(path, name, one_file_system)
            }
        }
    }

    /// Unpacks a tar archive that comes in chunks. The channel closes when no more of it is wanted.
    ///
    /// # Errors
    /// If the archive cannot be unpacked, and always in a stopped sandbox or a snapshot.
    pub async fn put_archive(
        &self,
        start: PutArchive,
        chunks: mpsc::Receiver<Bytes>,
    ) -> Result<PutArchiveReply, FilesError> {
        Ok(self.running()?.put_archive(start, chunks).await?)
    }

    fn running(&self) -> Result<Client, FilesError> {
        match &self.access {
            Access::Running(client) => Ok(client.as_ref().clone()),
            Access::Stopped(stopped) => Err(FilesError::Stopped {
                name: stopped.name.clone(),
            }),
            Access::Snapshot(snapshot) => Err(FilesError::Snapshot {
                name: snapshot.name.clone(),
            }),
        }
    }
}

/// Copies the entry's bytes: slices of a message keep the whole message in memory.
fn apart(mut entry: ListEntry) -> ListEntry {
    entry.name = Bytes::copy_from_slice(&entry.name);
    if let Some(stat) = &mut entry.stat {
        stat.link_target = Bytes::copy_from_slice(&stat.link_target);
    }
    entry
}

fn memory_bytes(entry: &ListEntry) -> usize {
    let target = entry.stat.as_ref().map_or(0, |stat| stat.link_target.len());
    size_of::<ListEntry>() + entry.name.len() + target
}

impl SandboxFiles {
    /// Opens the sandbox's files: through its agent while it runs, otherwise from its disks.
    /// A sandbox cannot be started while its disks are read.
    ///
    /// # Errors
    /// If the sandbox runs and does not answer, or its disks cannot be read.
    pub async fn open(sandbox: &Sandbox, home: &Home) -> Result<Self, FilesError> {
        let name = &sandbox.spec.name;
        match sandbox.connect().await {
            Err(ConnectError::NotRunning { .. }) => {}
            connected => return Ok(SandboxFiles::from_running(name, connected?)),
        }
        let (stopped, home) = (sandbox.clone(), home.clone());
        let opening = tokio::task::spawn_blocking(move || Stopped::open(&stopped, &home));
        match opening.await.map_err(|_| FilesError::BrokenOff)?? {
            Some(stopped) => Ok(SandboxFiles {
                name: name.clone(),
                access: Access::Stopped(Arc::new(stopped)),
            }),
            // Another process has started it since.
            None => Ok(SandboxFiles::from_running(name, sandbox.connect().await?)),
        }
    }
}
