//! Files that are created or replaced.

use std::io::Read;

use bytes::Bytes;
use msb_agent_protocol::CHUNK_MAX_BYTES;
use msb_agent_protocol::v1::WriteFile;
use msb_client::{Error, Operation, Text};
use msb_sandbox_files::SandboxFiles;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use super::{Files, WriteOptions};

/// Chunks of a file that wait for the sandbox.
const PENDING_CHUNKS: usize = 4;

impl Files {
    /// Creates or replaces a file. Readers see the old content or the new one, never a part.
    ///
    /// # Errors
    /// [`PathNotFound`](msb_client::ErrorKind::PathNotFound) if the directory does not exist,
    /// [`PermissionDenied`](msb_client::ErrorKind::PermissionDenied),
    /// [`OutOfSpace`](msb_client::ErrorKind::OutOfSpace), [`NotRunning`](msb_client::ErrorKind::NotRunning).
    pub fn write(&self, path: impl Into<Text>, content: impl Into<Bytes>) -> Operation<()> {
        self.write_with(path, content, WriteOptions::default())
    }

    /// Creates or replaces a file with these options.
    ///
    /// # Errors
    /// Fails as [`write`](Self::write) does.
    pub fn write_with(
        &self,
        path: impl Into<Text>,
        content: impl Into<Bytes>,
        options: WriteOptions,
    ) -> Operation<()> {
        let (path, content) = (self.source.path(path.into()), content.into());
        self.run_at(&path.clone(), move |_, files| {
            write(files, path, content, options)
        })
    }

    /// Creates or replaces a file with everything that `content` returns. `content` is read on a
    /// thread that may block. The old file stays if it cannot be read to its end.
    ///
    /// # Errors
    /// Fails as [`write`](Self::write) does, or if `content` cannot be read.
    pub fn write_from(
        &self,
        path: impl Into<Text>,
        content: impl Read + Send + 'static,
        options: WriteOptions,
    ) -> Operation<()> {
        let path = self.source.path(path.into());
        self.run_at(&path.clone(), move |_, files| async move {
            let start = begin_write(&path, options);
            Ok(msb_sandbox_files::write_file(content, &files, start).await?)
        })
    }

    /// Begins to write a file in parts, with memory for some of them. Runs on the current Tokio runtime.
    ///
    /// ```no_run
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// let upload = sandbox.files().write_parts("/data/big", Default::default());
    /// for part in 0..1000 {
    ///     upload.write(format!("part {part}\n")).await?;
    /// }
    /// upload.finish().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn write_parts(&self, path: impl Into<Text>, options: WriteOptions) -> FileUpload {
        let path = self.source.path(path.into());
        let (sender, chunks) = mpsc::channel(PENDING_CHUNKS);
        let writing = self.run_at(&path.clone(), move |_, files| async move {
            Ok(files
                .write_file(begin_write(&path, options), chunks)
                .await?)
        });
        FileUpload {
            chunks: Mutex::new(Some(sender)),
            writing: Mutex::new(Some(tokio::spawn(writing))),
        }
    }
}

/// A file that is written in parts. The old file stays until all of the new one is in the sandbox.
///
/// Dropping it before [`finish`](Self::finish) leaves the old file.
#[derive(Debug)]
pub struct FileUpload {
    chunks: Mutex<Option<mpsc::Sender<Option<Bytes>>>>,
    writing: Mutex<Option<JoinHandle<Result<(), Error>>>>,
}

impl FileUpload {
    /// Writes a part, and waits until the sandbox has room for it.
    ///
    /// # Errors
    /// The reason for which the sandbox writes no more.
    pub async fn write(&self, bytes: impl Into<Bytes> + Send) -> Result<(), Error> {
        let mut bytes = bytes.into();
        let mut chunks = self.chunks.lock().await;
        while !bytes.is_empty() {
            let chunk = bytes.split_to(bytes.len().min(CHUNK_MAX_BYTES));
            let is_read = match chunks.as_ref() {
                Some(sender) => sender.send(Some(chunk)).await.is_ok(),
                None => false,
            };
            if !is_read {
                *chunks = None;
                drop(chunks);
                self.ended().await?;
                return Err(given_up());
            }
        }
        Ok(())
    }

    /// Ends the file, and waits until it is in place.
    ///
    /// # Errors
    /// The reason for which it is not written. The old file stays then.
    pub async fn finish(&self) -> Result<(), Error> {
        if let Some(sender) = self.chunks.lock().await.take() {
            // The end of the content: without it the sandbox keeps the old file. A writer that failed has an error.
            let _ = sender.send(None).await;
        }
        self.ended().await
    }

    async fn ended(&self) -> Result<(), Error> {
        match self.writing.lock().await.take() {
            Some(writing) => writing.await.unwrap_or_else(|_| Err(given_up())),
            None => Err(given_up()),
        }
    }
}

impl Drop for FileUpload {
    fn drop(&mut self) {
        if let Some(writing) = self.writing.get_mut() {
            writing.abort();
        }
    }
}

fn given_up() -> Error {
    Error::invalid("the file was given up, or is finished")
}

fn begin_write(path: &Text, options: WriteOptions) -> WriteFile {
    WriteFile {
        path: path.to_bytes(),
        mode: options.mode,
        parents: options.parents,
    }
}

async fn write(
    files: SandboxFiles,
    path: Text,
    content: Bytes,
    options: WriteOptions,
) -> Result<(), Error> {
    let start = begin_write(&path, options);
    let (sender, chunks) = mpsc::channel(PENDING_CHUNKS);
    let sending = async move {
        let mut content = content;
        while !content.is_empty() {
            let chunk = content.split_to(content.len().min(CHUNK_MAX_BYTES));
            if sender.send(Some(chunk)).await.is_err() {
                return;
            }
        }
        // The end of the content: without it the sandbox keeps the old file.
        let _ = sender.send(None).await;
    };
    let (written, ()) = tokio::join!(files.write_file(start, chunks), sending);
    Ok(written?)
}
