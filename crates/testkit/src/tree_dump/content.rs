use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use sha2::{Digest, Sha256};

/// Size and digest of a regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Size of the file, in bytes.
    pub size_bytes: u64,
    /// SHA-256 of the content; holes count as zeros.
    pub sha256: [u8; 32],
}

/// Size above which content is not read as a whole, in bytes.
const LARGE_BYTES: u64 = 1 << 30;
/// Length of the parts that are read of such content, at its start and its end, in bytes.
const END_BYTES: u64 = 1 << 20;

impl Content {
    /// Reads a file. Of a file of more than 1 GiB, the digest covers only the first and the last
    /// MiB.
    ///
    /// # Errors
    /// An error while the file is read.
    pub fn read_file(mut file: File) -> io::Result<Self> {
        let size_bytes = file.metadata()?.len();
        if size_bytes <= LARGE_BYTES {
            return Self::read(file);
        }
        let mut ends = Vec::new();
        for start in [0, size_bytes - END_BYTES] {
            file.seek(SeekFrom::Start(start))?;
            file.by_ref().take(END_BYTES).read_to_end(&mut ends)?;
        }
        let sha256 = Self::read(&ends[..])?.sha256;
        Ok(Self { size_bytes, sha256 })
    }

    /// Reads content to its end.
    ///
    /// # Errors
    /// An error while the content is read.
    pub fn read(mut content: impl Read) -> io::Result<Self> {
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
