use std::error::Error;
use std::io::Read;

use crate::Run;

/// An image that stores the content of regular files while it streams by, before it has a tree.
pub trait DataSink {
    /// The reason for which content cannot be stored.
    type Error: Error + Send + Sync + 'static;

    /// Stores the next `length_bytes` of `content` as one run of blocks, the last zero-padded.
    ///
    /// If an equal run is stored already, it may be returned instead. Returns `None` for empty
    /// content.
    ///
    /// # Errors
    /// `content` fails or ends early, or the image cannot store it.
    fn append(
        &mut self,
        content: &mut dyn Read,
        length_bytes: u64,
    ) -> Result<Option<Run>, Self::Error>;
}
