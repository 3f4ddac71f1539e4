use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::v1::{
    Chunk, FileStat, GetArchiveRequest, ListEntry, ListReply, ListRequest, MakeDirectoryRequest,
    PutArchive, PutArchiveInput, PutArchiveReply, ReadFileRequest, RemoveRequest, RenameRequest,
    SetModeRequest, StatRequest, WriteFile, WriteFileEnd, WriteFileInput, put_archive_input,
    write_file_input,
};
use crate::{Client, ClientError};

/// Chunks of an archive that wait for the connection.
const PENDING_CHUNKS: usize = 4;

/// Bytes that come from the guest: an archive, or a file's content.
#[derive(Debug)]
pub struct Archive {
    chunks: Streaming<Chunk>,
    call: &'static str,
}

/// What is in a directory, as it comes from the guest.
#[derive(Debug)]
pub struct Listing(Streaming<ListReply>);

impl Archive {
    /// What comes next; `None` at the end.
    ///
    /// # Errors
    /// When the guest cannot go on, or the connection fails.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        let chunk = self.chunks.message().await;
        let chunk = chunk.map_err(ClientError::of_files(self.call))?;
        Ok(chunk.map(|chunk| chunk.data))
    }
}

impl Listing {
    /// The entries that come next; `None` at the end.
    ///
    /// # Errors
    /// When the guest cannot go on, or the connection fails.
    pub async fn next(&mut self) -> Result<Option<Vec<ListEntry>>, ClientError> {
        let reply = self.0.message().await;
        let reply = reply.map_err(ClientError::of_files("list"))?;
        Ok(reply.map(|reply| reply.entries))
    }
}

impl Client {
    /// What a file is; of a symlink, with `follow`, what it leads to.
    ///
    /// # Errors
    /// When it cannot be looked at, or the agent cannot be reached.
    pub async fn stat(&mut self, path: Bytes, follow: bool) -> Result<FileStat, ClientError> {
        let reply = self.sandbox.stat(StatRequest { path, follow }).await;
        let reply = reply.map_err(ClientError::of_files("stat"))?.into_inner();
        reply.stat.ok_or(ClientError::OutOfTurn)
    }

    /// What is in a directory.
    ///
    /// # Errors
    /// When it cannot be read, or the agent cannot be reached.
    pub async fn list(&mut self, path: Bytes) -> Result<Listing, ClientError> {
        let reply = self.sandbox.list(ListRequest { path }).await;
        let reply = reply.map_err(ClientError::of_files("list"))?;
        Ok(Listing(reply.into_inner()))
    }

    /// What a file holds.
    ///
    /// # Errors
    /// When it cannot be opened, or the agent cannot be reached.
    pub async fn read_file(&mut self, path: Bytes) -> Result<Archive, ClientError> {
        let call = "read file";
        let reply = self.sandbox.read_file(ReadFileRequest { path }).await;
        let chunks = reply.map_err(ClientError::of_files(call))?.into_inner();
        Ok(Archive { chunks, call })
    }

    /// Removes a file.
    ///
    /// # Errors
    /// When it cannot be removed, or the agent cannot be reached.
    pub async fn remove(&mut self, request: RemoveRequest) -> Result<(), ClientError> {
        let reply = self.sandbox.remove(request).await;
        reply.map_err(ClientError::of_files("remove")).map(drop)
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// When it cannot be made, or the agent cannot be reached.
    pub async fn make_directory(
        &mut self,
        request: MakeDirectoryRequest,
    ) -> Result<(), ClientError> {
        let reply = self.sandbox.make_directory(request).await;
        reply
            .map_err(ClientError::of_files("make directory"))
            .map(drop)
    }

    /// Makes or replaces a file with content that comes in chunks. `Ok(None)` is its end: where the channel
    /// ends without it, the file stays as it was.
    ///
    /// # Errors
    /// When it cannot be written, or the agent cannot be reached.
    pub async fn write_file(
        &mut self,
        start: WriteFile,
        mut chunks: mpsc::Receiver<Option<Bytes>>,
    ) -> Result<(), ClientError> {
        let (inputs, pending) = mpsc::channel(PENDING_CHUNKS);
        let sending = async move {
            let mut next = Some(write_file_input::Input::Start(start));
            while let Some(input) = next {
                let input = Some(input);
                if inputs.send(WriteFileInput { input }).await.is_err() {
                    return;
                }
                next = chunks.recv().await.map(|chunk| match chunk {
                    Some(data) => write_file_input::Input::Data(data),
                    None => write_file_input::Input::End(WriteFileEnd {}),
                });
            }
        };
        let sending = tokio::spawn(sending);
        let reply = self.sandbox.write_file(ReceiverStream::new(pending)).await;
        // An answer before the end: the guest wants no more.
        sending.abort();
        reply.map_err(ClientError::of_files("write file")).map(drop)
    }

    /// Gives a file another name.
    ///
    /// # Errors
    /// When it cannot be renamed, or the agent cannot be reached.
    pub async fn rename(&mut self, request: RenameRequest) -> Result<(), ClientError> {
        let reply = self.sandbox.rename(request).await;
        reply.map_err(ClientError::of_files("rename")).map(drop)
    }

    /// Sets a file's permission bits.
    ///
    /// # Errors
    /// When they cannot be set, or the agent cannot be reached.
    pub async fn set_mode(&mut self, request: SetModeRequest) -> Result<(), ClientError> {
        let reply = self.sandbox.set_mode(request).await;
        reply.map_err(ClientError::of_files("set mode")).map(drop)
    }

    /// A file, or a directory and all that is in it, as a tar archive.
    ///
    /// # Errors
    /// When it cannot be opened, or the agent cannot be reached.
    pub async fn get_archive(
        &mut self,
        request: GetArchiveRequest,
    ) -> Result<Archive, ClientError> {
        let call = "get archive";
        let reply = self.sandbox.get_archive(request).await;
        let chunks = reply.map_err(ClientError::of_files(call))?.into_inner();
        Ok(Archive { chunks, call })
    }

    /// Unpacks a tar archive whose bytes come in chunks. One that fails ends when the channel does;
    /// the channel closes when the guest wants no more of it.
    ///
    /// # Errors
    /// When it cannot be unpacked, or the agent cannot be reached.
    pub async fn put_archive(
        &mut self,
        start: PutArchive,
        mut chunks: mpsc::Receiver<Bytes>,
    ) -> Result<PutArchiveReply, ClientError> {
        let (inputs, pending) = mpsc::channel(PENDING_CHUNKS);
        let sending = async move {
            let start = put_archive_input::Input::Start(start);
            let mut next = Some(start);
            while let Some(input) = next {
                let input = Some(input);
                if inputs.send(PutArchiveInput { input }).await.is_err() {
                    return;
                }
                next = chunks.recv().await.map(put_archive_input::Input::Data);
            }
        };
        let sending = tokio::spawn(sending);
        let reply = self.sandbox.put_archive(ReceiverStream::new(pending)).await;
        // An answer before the end: the guest wants no more.
        sending.abort();
        reply
            .map_err(ClientError::of_files("put archive"))
            .map(tonic::Response::into_inner)
    }
}
