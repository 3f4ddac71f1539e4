use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use block_tree::{Content, HeadLastWriter};
use erofs_writer::{BLOCK_SIZE_BYTES, ImageOutput};
use fs_err as fs;
use image_store::tree;

use super::write_behind::WriteBehind;

/// Length of the first block, in bytes.
const HEAD_BYTES: usize = 4096;

/// A file for an EROFS image that is digested while it is written, to the tree beside it. The blocks
/// behind the first come in order, and the first block last.
pub(crate) struct ArtifactFile {
    file: fs::File,
    head: [u8; HEAD_BYTES],
    tree: HeadLastWriter<fs::File>,
    written: WriteBehind,
    /// Offset of the next byte, and length of the file; both in bytes.
    offset_bytes: u64,
    end_bytes: u64,
}

impl ImageOutput for ArtifactFile {}

impl ArtifactFile {
    /// Creates a file at `path`, which must not exist, and a file for its tree.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = durable_files::create_new(path)?;
        let tree = durable_files::create(&tree::path(path))?;
        Ok(Self {
            file,
            head: [0; HEAD_BYTES],
            tree: HeadLastWriter::new(tree)?,
            written: WriteBehind::default(),
            offset_bytes: 0,
            end_bytes: BLOCK_SIZE_BYTES,
        })
    }

    /// Returns the file and its tree, which are not yet synced, and the file's length and checksum.
    pub(crate) fn finish(self) -> io::Result<(fs::File, fs::File, Content)> {
        let (tree, content) = self.tree.finish(&self.head)?;
        Ok((self.file, tree, content))
    }

    /// Returns the part of `bytes` for the next write, which must not cross the end of the head.
    fn cut<'a>(&self, bytes: &'a [u8]) -> io::Result<&'a [u8]> {
        match BLOCK_SIZE_BYTES.checked_sub(self.offset_bytes) {
            Some(room_bytes @ 1..) => {
                let room_bytes = usize::try_from(room_bytes).unwrap_or(HEAD_BYTES);
                Ok(&bytes[..bytes.len().min(room_bytes)])
            }
            _ if self.offset_bytes == self.end_bytes => Ok(bytes),
            _ => Err(io::Error::other(
                "the blocks of an image must be written in order",
            )),
        }
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.offset_bytes < BLOCK_SIZE_BYTES {
            let start = usize::try_from(self.offset_bytes).unwrap_or(HEAD_BYTES);
            self.head[start..start + bytes.len()].copy_from_slice(bytes);
        } else {
            self.tree.update(bytes)?;
        }
        self.offset_bytes += u64::try_from(bytes.len()).unwrap_or(0);
        self.end_bytes = self.end_bytes.max(self.offset_bytes);
        Ok(())
    }
}

impl Write for ArtifactFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(self.cut(bytes)?)?;
        self.take(&bytes[..count])?;
        self.written.advance(&self.file, self.end_bytes);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Bytes that were written can be read again.
impl Read for ArtifactFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.offset_bytes += u64::try_from(count).unwrap_or(0);
        Ok(count)
    }
}

impl Seek for ArtifactFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.offset_bytes = self.file.seek(position)?;
        Ok(self.offset_bytes)
    }
}

#[cfg(test)]
mod tests {
    use image_store::Checksum;

    use super::*;

    #[test]
    fn it_has_the_checksum_and_the_tree_of_its_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("x");
        let mut file = ArtifactFile::create(&path).expect("made");
        file.seek(SeekFrom::Start(BLOCK_SIZE_BYTES))
            .expect("sought");
        file.write_all(&[1; 10_000]).expect("written");
        file.write_all(&[2; 10_000]).expect("written");
        file.seek(SeekFrom::Start(8192)).expect("sought");
        file.write_all(b"again").expect_err("out of order");
        file.rewind().expect("sought");
        file.write_all(&[3; HEAD_BYTES]).expect("written");
        let (_, _, content) = file.finish().expect("written");
        let read = Checksum::compute_file(&path).expect("read");
        let checksum = Checksum::from_bytes(content.blake3);
        assert_eq!((checksum, content.length_bytes), read);
        assert_eq!(content.length_bytes, 24_096);
        let made = directory.path().join("made");
        tree::write(&path, &made).expect("written");
        let trees = [tree::path(&path), made].map(|tree| fs::read(tree).expect("read"));
        assert!(trees[0] == trees[1]);
    }
}
