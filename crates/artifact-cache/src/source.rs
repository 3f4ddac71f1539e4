use std::io;
use std::sync::Arc;

use fstree::ReadAt;
use packed_file::{GROUP_BYTES, PackedFile};

/// A place that has bytes of an artifact. It is not trusted: what it gives is compared with the artifact's proof.
pub trait Source: Send + Sync {
    /// Returns the name of the place, for people.
    fn name(&self) -> String;

    /// Fills `buf` with the artifact's bytes from `offset_bytes` on: a unit, or the rest of the artifact. Groups of
    /// 64 KiB that it cannot give may have any bytes.
    ///
    /// Several threads call it at once, for different units. The source sets its own deadline; nothing else ends the call.
    ///
    /// # Errors
    /// If it can give none of them.
    fn fetch(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()>;
}

impl<R: ReadAt + Send + Sync> Source for PackedFile<R> {
    fn name(&self) -> String {
        "the packed file".to_owned()
    }

    fn fetch(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        // A damaged frame leaves zeros, and the frames after it are intact.
        let (mut failure, mut is_any) = (None, false);
        let offsets = (offset_bytes..).step_by(GROUP_BYTES);
        for (group, offset_bytes) in buf.chunks_mut(GROUP_BYTES).zip(offsets) {
            match self.read(group, offset_bytes) {
                Ok(()) => is_any = true,
                Err(error) => failure = Some(error),
            }
        }
        failure
            .filter(|_| !is_any)
            .map_or(Ok(()), |error| Err(error.into()))
    }
}

impl<S: Source + ?Sized> Source for Arc<S> {
    fn name(&self) -> String {
        (**self).name()
    }

    fn fetch(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        (**self).fetch(buf, offset_bytes)
    }
}
