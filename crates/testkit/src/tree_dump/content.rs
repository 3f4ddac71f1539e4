use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use sha2::{Digest, Sha256};

/// A regular file's content: how much, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Its size.
    pub size_bytes: u64,
    /// Its digest, holes read as zeros.
    pub sha256: [u8; 32],
}

/// Content beyond this is not read whole.
const LARGE_BYTES: u64 = 1 << 30;
/// What is read of it at its beginning and at its end.
const END_BYTES: u64 = 1 << 20;

impl Content {
    /// Reads a file; one of more than 1 GiB by its first and its last MiB, which is what its digest is
    /// of.
    ///
    /// # Errors
    /// What reading gives.
    pub fn of_file(mut file: File) -> io::Result<Self> {
        let size_bytes = file.metadata()?.len();
        if size_bytes <= LARGE_BYTES {
            return Self::of(file);
        }
        let mut ends = Vec::new();
        for start in [0, size_bytes - END_BYTES] {
            file.seek(SeekFrom::Start(start))?;
            file.by_ref().take(END_BYTES).read_to_end(&mut ends)?;
        }
        let sha256 = Self::of(&ends[..])?.sha256;
        Ok(Self { size_bytes, sha256 })
    }

    /// Reads content to its end.
    ///
    /// # Errors
    /// What reading gives.
    pub fn of(mut content: impl Read) -> io::Result<Self> {
        let mut digest = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        let mut size_bytes = 0;
        loop {
            match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    digest.update(&buffer[..count]);
                    size_bytes += u64::try_from(count).expect("a buffer is below 2^64");
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self {
            size_bytes,
            sha256: digest.finalize().into(),
        })
    }
}
