use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use fs_err as fs;

/// The unit in which a file is written or left a hole, in bytes: the block of an export.
const BLOCK_BYTES: usize = 4096;

/// A new file that reads as zeros until it is written to. An archive may carry zeros, which compress to nothing, and
/// would take all of the host's disk: blocks of zeros are not written.
#[derive(Debug)]
pub(super) struct SparseFile(fs::File);

impl SparseFile {
    pub(super) fn create(path: &Path, size_bytes: u64) -> io::Result<Self> {
        let file = durable_files::create_new(path)?;
        file.set_len(size_bytes)?;
        Ok(Self(file))
    }

    /// Writes the blocks of a piece that are not all zeros.
    pub(super) fn write(&self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
        let mut at_bytes = offset_bytes;
        for block in bytes.chunks(BLOCK_BYTES) {
            if block.iter().any(|&byte| byte != 0) {
                self.0.file().write_all_at(block, at_bytes)?;
            }
            at_bytes += u64::try_from(block.len()).unwrap_or(u64::MAX);
        }
        Ok(())
    }

    /// Makes the content durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn zeros_of_an_archive_take_no_space() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("disk");
        let file = SparseFile::create(&path, 64 << 20).expect("made");
        let zeros = vec![0; 32 << 20];
        file.write(0, &zeros).expect("written");
        file.write(4096, b"one").expect("written");
        file.sync().expect("synced");
        let status = fs::metadata(&path).expect("its status");
        assert_eq!(status.len(), 64 << 20);
        assert!(status.blocks() * 512 <= 64 << 10, "{}", status.blocks());
        let read = fs::read(&path).expect("read");
        assert_eq!(&read[4096..4099], b"one");
    }
}
