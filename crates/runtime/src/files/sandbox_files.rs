use msb_agent_protocol::v1::{
    FileStat, GetArchiveRequest, ListEntry, MakeDirectoryRequest, PutArchive, PutArchiveReply,
    RemoveRequest, RenameRequest, SetModeRequest, WriteFile,
};
use msb_agent_protocol::{Bytes, Client};
use std::sync::Arc;

use tokio::sync::mpsc;

use super::stopped::Stopped;
use super::{ByteStream, FilesError};
use crate::{Home, ReachError, Sandbox};

/// Memory for one listing: a guest may go on for ever.
const LISTING_MAX_BYTES: usize = 512 << 20;

/// The files of one sandbox. Paths are from its root; symlinks are followed as a process in it does.
#[derive(Debug, Clone)]
pub struct SandboxFiles(Access);

#[derive(Debug, Clone)]
enum Access {
    /// Through the agent.
    Running(Box<Client>),
    /// From the disks.
    Stopped(Arc<Stopped>),
}

impl SandboxFiles {
    /// Those of a sandbox that runs.
    pub fn of_running(client: Client) -> Self {
        Self(Access::Running(Box::new(client)))
    }

    /// What a file is; of a symlink, with `follow`, what it leads to.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub async fn stat(&self, path: &[u8], follow: bool) -> Result<FileStat, FilesError> {
        let path = Bytes::copy_from_slice(path);
        match &self.0 {
            Access::Running(client) => Ok(client.clone().stat(path, follow).await?),
            Access::Stopped(stopped) => stopped.stat(&path, follow),
        }
    }

    /// What is in a directory, in bytewise order of the names.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn list(&self, path: &[u8]) -> Result<Vec<ListEntry>, FilesError> {
        let path = Bytes::copy_from_slice(path);
        match &self.0 {
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
                    entries.extend(more.into_iter().map(apart));
                }
                Ok(entries)
            }
            Access::Stopped(stopped) => stopped.list(&path),
        }
    }

    /// What a file holds.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn read(&self, path: &[u8]) -> Result<ByteStream, FilesError> {
        let path = Bytes::copy_from_slice(path);
        match &self.0 {
            Access::Running(client) => {
                let content = client.clone().read_file(path).await?;
                Ok(ByteStream::of_guest(content))
            }
            Access::Stopped(stopped) => stopped.read(&path),
        }
    }

    /// Removes a file.
    ///
    /// # Errors
    /// When it cannot be removed; always while the sandbox is stopped.
    pub async fn remove(&self, request: RemoveRequest) -> Result<(), FilesError> {
        Ok(self.running()?.remove(request).await?)
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// When it cannot be made; always while the sandbox is stopped.
    pub async fn make_directory(&self, request: MakeDirectoryRequest) -> Result<(), FilesError> {
        Ok(self.running()?.make_directory(request).await?)
    }

    /// Makes or replaces a file with content that comes in chunks, `None` at its end; see
    /// [`Client::write_file`].
    ///
    /// # Errors
    /// When it cannot be written; always while the sandbox is stopped.
    pub async fn write_file(
        &self,
        start: WriteFile,
        chunks: mpsc::Receiver<Option<Bytes>>,
    ) -> Result<(), FilesError> {
        Ok(self.running()?.write_file(start, chunks).await?)
    }

    /// Gives a file another name.
    ///
    /// # Errors
    /// When it cannot be renamed; always while the sandbox is stopped.
    pub async fn rename(&self, request: RenameRequest) -> Result<(), FilesError> {
        Ok(self.running()?.rename(request).await?)
    }

    /// Sets a file's permission bits.
    ///
    /// # Errors
    /// When they cannot be set; always while the sandbox is stopped.
    pub async fn set_mode(&self, request: SetModeRequest) -> Result<(), FilesError> {
        Ok(self.running()?.set_mode(request).await?)
    }

    /// A file, or a directory and all that is in it, as a tar archive that calls it `name`. With
    /// `one_file_system` what is mounted in the directory is left out.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn get_archive(
        &self,
        path: &[u8],
        name: &[u8],
        one_file_system: bool,
    ) -> Result<ByteStream, FilesError> {
        match &self.0 {
            Access::Running(client) => {
                let request = GetArchiveRequest {
                    path: Bytes::copy_from_slice(path),
                    name: Bytes::copy_from_slice(name),
                    one_file_system,
                };
                let archive = client.clone().get_archive(request).await?;
                Ok(ByteStream::of_guest(archive))
            }
            Access::Stopped(stopped) => stopped.get_archive(path, name, one_file_system),
        }
    }

    /// Unpacks a tar archive that comes in chunks. The channel closes when no more of it is wanted.
    ///
    /// # Errors
    /// When it cannot be unpacked; always while the sandbox is stopped.
    pub async fn put_archive(
        &self,
        start: PutArchive,
        chunks: mpsc::Receiver<Bytes>,
    ) -> Result<PutArchiveReply, FilesError> {
        Ok(self.running()?.put_archive(start, chunks).await?)
    }

    fn running(&self) -> Result<Client, FilesError> {
        match &self.0 {
            Access::Running(client) => Ok(client.as_ref().clone()),
            Access::Stopped(stopped) => Err(FilesError::Stopped {
                name: stopped.name.clone(),
            }),
        }
    }
}

/// The same in memory of its own: what a message brings is kept as long as any part of it.
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

impl Sandbox {
    /// Its files: through its agent while it runs, else from its disks. A sandbox whose disks are
    /// being read is not started.
    ///
    /// # Errors
    /// When it runs and does not answer, or its disks cannot be read.
    pub async fn files(&self, home: &Home) -> Result<SandboxFiles, FilesError> {
        match self.connect().await {
            Err(ReachError::NotRunning { .. }) => {}
            connected => return Ok(SandboxFiles::of_running(connected?)),
        }
        let (sandbox, home) = (self.clone(), home.clone());
        let opening = tokio::task::spawn_blocking(move || Stopped::open(&sandbox, &home));
        match opening.await.map_err(|_| FilesError::BrokenOff)?? {
            Some(stopped) => Ok(SandboxFiles(Access::Stopped(Arc::new(stopped)))),
            // Somebody has just started it.
            None => Ok(SandboxFiles::of_running(self.connect().await?)),
        }
    }
}
