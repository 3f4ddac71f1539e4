use std::fmt;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use fs_err as fs;

/// The stream of a blob's bytes.
type Stream = Box<dyn Read + Send>;

/// A blob that the store lacks, as something that can be opened: a file, or bytes that are made while
/// they are read.
#[derive(Clone)]
pub struct OpenBlob(Arc<dyn Fn() -> io::Result<Stream> + Send + Sync>);

impl OpenBlob {
    /// Returns a blob that `open` opens. Each stream has the same bytes.
    pub fn new(open: impl Fn() -> io::Result<Stream> + Send + Sync + 'static) -> Self {
        Self(Arc::new(open))
    }

    /// Returns the bytes of the blob.
    ///
    /// # Errors
    /// If the blob cannot be opened.
    pub fn open(&self) -> io::Result<Stream> {
        (self.0)()
    }
}

impl From<PathBuf> for OpenBlob {
    fn from(path: PathBuf) -> Self {
        Self::new(move || Ok(Box::new(fs::File::open(&path)?)))
    }
}

impl fmt::Debug for OpenBlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenBlob")
    }
}
