use std::sync::Arc;

use bytes::Bytes;
use msb_client::Error;
use msb_sandbox_files::ByteStream;
use tokio::sync::Mutex;

use crate::Handle;

/// A stream of bytes from a sandbox: the content of a file, or a tar archive.
///
/// A reader that is slow slows the sandbox down. Dropping the stream ends it.
#[derive(Debug)]
pub struct FileStream {
    handle: Arc<Handle>,
    bytes: Mutex<Option<ByteStream>>,
}

impl FileStream {
    pub(super) fn new(handle: Arc<Handle>, bytes: ByteStream) -> Self {
        Self {
            handle,
            bytes: Mutex::new(Some(bytes)),
        }
    }

    /// Returns the next bytes, and waits for them; `None` at the end.
    ///
    /// # Errors
    /// [`SandboxEnded`](msb_client::ErrorKind::SandboxEnded), or a file that cannot be read.
    pub async fn next(&self) -> Result<Option<Bytes>, Error> {
        let mut bytes = self.bytes.lock().await;
        let Some(stream) = bytes.as_mut() else {
            return Ok(None);
        };
        match stream.next().await {
            Ok(Some(chunk)) => Ok(Some(chunk)),
            Ok(None) => {
                *bytes = None;
                Ok(None)
            }
            Err(error) => {
                *bytes = None;
                Err(self.handle.explain(error).await)
            }
        }
    }
}
