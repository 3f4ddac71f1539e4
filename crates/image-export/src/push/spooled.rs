use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use oci_registry::{BlobBytes, ReadError};
use tokio::sync::mpsc::Sender;

/// Bytes that are read at a time.
const PIECE_BYTES: u64 = 256 * 1024;

/// A compressed layer in an unnamed file, as the source of an upload.
#[derive(Debug)]
pub(super) struct Spooled {
    file: File,
    size_bytes: u64,
}

impl Spooled {
    pub(super) const fn new(file: File, size_bytes: u64) -> Self {
        Self { file, size_bytes }
    }

    fn send(&self, mut position_bytes: u64, parts: &Sender<Bytes>) -> io::Result<()> {
        while position_bytes < self.size_bytes {
            let length_bytes = PIECE_BYTES.min(self.size_bytes - position_bytes);
            let mut piece = vec![0; usize::try_from(length_bytes).unwrap_or_default()];
            self.file.read_exact_at(&mut piece, position_bytes)?;
            if parts.blocking_send(piece.into()).is_err() {
                // The upload needs no more bytes.
                break;
            }
            position_bytes += length_bytes;
        }
        Ok(())
    }
}

impl BlobBytes for Spooled {
    fn send_from(
        self: Arc<Self>,
        offset_bytes: u64,
        parts: Sender<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<(), ReadError>> + Send>> {
        Box::pin(async move {
            let read = move || self.send(offset_bytes, &parts);
            Ok(tokio::task::spawn_blocking(read).await??)
        })
    }
}
