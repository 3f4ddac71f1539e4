use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// A regular file's content: how much, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Its size.
    pub size_bytes: u64,
    /// Its digest, holes read as zeros.
    pub sha256: [u8; 32],
}

impl Content {
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
