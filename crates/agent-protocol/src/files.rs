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

/// The number of chunks that may wait for the connection.
const PENDING_CHUNKS: usize = 4;

/// A stream of bytes from the guest: an archive, or a file's content.
#[derive(Debug)]
pub struct Archive {
    chunks: Streaming<Chunk>,
    call: &'static str,
}

/// A stream of a directory's entries from the guest.
#[derive(Debug)]
pub struct Listing(Streaming<ListReply>);

impl Archive {
    /// Returns the next bytes. `None` at the end.
    ///
    /// # Errors
    /// If the guest cannot continue, or the connection fails.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        let chunk = self.chunks.message().await;
        let chunk = chunk.map_err(ClientError::for_file_call(self.call))?;
        Ok(chunk.map(|chunk| chunk.data))
    }
}

impl Listing {
    /// Returns the next entries. `None` at the end.
    ///
    /// # Errors
    /// If the guest cannot continue, or the connection fails.
    pub async fn next(&mut self) -> Result<Option<Vec<ListEntry>>, ClientError> {
        let reply = self.0.message().await;
        let reply = reply.map_err(ClientError::for_file_call("list"))?;
        Ok(reply.map(|reply| reply.entries))
    }
}

impl Client {
    /// Returns the type and attributes of a file. With `follow` a symlink is followed.
    ///
    /// # Errors
    /// If the file cannot be inspected, or the call fails.
    pub async fn stat(&mut self, path: Bytes, follow: bool) -> Result<FileStat, ClientError> {
        let reply = self.sandbox.stat(StatRequest { path, follow }).await;
        let reply = reply
            .map_err(ClientError::for_file_call("stat"))?
            .into_inner();
        reply.stat.ok_or(ClientError::OutOfTurn)
    }

    /// Lists a directory.
    ///
    /// # Errors
    /// If the directory cannot be read, or the call fails.
    pub async fn list(&mut self, path: Bytes) -> Result<Listing, ClientError> {
        let reply = self.sandbox.list(ListRequest { path }).await;
        let reply = reply.map_err(ClientError::for_file_call("list"))?;
        Ok(Listing(reply.into_inner()))
    }

    /// Reads a file's content.
    ///
    /// # Errors
    /// If the file cannot be opened, or the call fails.
    pub async fn read_file(&mut self, path: Bytes) -> Result<Archive, ClientError> {
        let call = "read file";
        let reply = self.sandbox.read_file(ReadFileRequest { path }).await;
        let chunks = reply
            .map_err(ClientError::for_file_call(call))?
            .into_inner();
        Ok(Archive { chunks, call })
    }

    /// Removes a file.
    ///
    /// # Errors
    /// If the file cannot be removed, or the call fails.
    pub async fn remove(&mut self, request: RemoveRequest) -> Result<(), ClientError> {
        let reply = self.sandbox.remove(request).await;
        reply
            .map_err(ClientError::for_file_call("remove"))
            .map(drop)
    }

    /// Creates a directory.
    ///
    /// # Errors
    /// If the directory cannot be created, or the call fails.
    pub async fn make_directory(
        &mut self,
        request: MakeDirectoryRequest,
    ) -> Result<(), ClientError> {
        let reply = self.sandbox.make_directory(request).await;
        reply
            .map_err(ClientError::for_file_call("make directory"))
            .map(drop)
    }

    /// Creates or replaces a file with content that arrives in chunks.
    ///
    /// `None` in the channel marks the end of the content. If the channel closes without it, the
    /// file stays unchanged.
    ///
    /// # Errors
    /// If the file cannot be written, or the call fails.
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
        // After an early answer the guest wants no more chunks.
        sending.abort();
        reply
            .map_err(ClientError::for_file_call("write file"))
            .map(drop)
    }

    /// Renames a file.
    ///
    /// # Errors
    /// If the file cannot be renamed, or the call fails.
    pub async fn rename(&mut self, request: RenameRequest) -> Result<(), ClientError> {
        let reply = self.sandbox.rename(request).await;
        reply
            .map_err(ClientError::for_file_call("rename"))
            .map(drop)
    }

    /// Sets a file's permission bits.
    ///
    /// # Errors
    /// If the bits cannot be set, or the call fails.
    pub async fn set_mode(&mut self, request: SetModeRequest) -> Result<(), ClientError> {
        let reply = self.sandbox.set_mode(request).await;
        reply
            .map_err(ClientError::for_file_call("set mode"))
            .map(drop)
    }

    /// Reads a file, or a directory and everything in it, as a tar archive.
    ///
    /// # Errors
    /// If the file cannot be opened, or the call fails.
    pub async fn get_archive(
        &mut self,
        request: GetArchiveRequest,
    ) -> Result<Archive, ClientError> {
        let call = "get archive";
        let reply = self.sandbox.get_archive(request).await;
        let chunks = reply
            .map_err(ClientError::for_file_call(call))?
            .into_inner();
        Ok(Archive { chunks, call })
    }

    /// Unpacks a tar archive whose bytes arrive in chunks.
    ///
    /// To abandon an archive, close the channel early. The guest closes it when it wants no more
    /// bytes.
    ///
    /// # Errors
    /// If the archive cannot be unpacked, or the call fails.
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
        // After an early answer the guest wants no more chunks.
        sending.abort();
        reply
            .map_err(ClientError::for_file_call("put archive"))
            .map(tonic::Response::into_inner)
    }
}
