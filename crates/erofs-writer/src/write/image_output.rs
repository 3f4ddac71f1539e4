use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The output of an [`ImageWriter`](crate::ImageWriter). It can be read, because a run of blocks is
/// compared with an equal one before the two are stored once.
///
/// A plain [`File`] is none: `File::create` opens a file that cannot be read, and the writer would
/// fail at the first repeated content. Open an [`OutputFile`] instead.
#[diagnostic::on_unimplemented(
    message = "an image cannot be written to `{Self}`",
    note = "use `ImageWriter::create(path, ...)` or `OutputFile::new(file)` for files"
)]
pub trait ImageOutput: Read + Write + Seek {}

impl ImageOutput for Cursor<Vec<u8>> {}
impl ImageOutput for OutputFile {}
impl<T: ImageOutput + ?Sized> ImageOutput for &mut T {}

/// A file that can be read and written.
#[derive(Debug)]
pub struct OutputFile(File);

impl OutputFile {
    /// Creates the file at `path`, or empties it.
    ///
    /// # Errors
    /// Fails as [`File::options`] and its `open` do.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(true);
        options.open(path).map(Self)
    }

    /// Takes a file that is open for reading and writing.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn new(mut file: File) -> io::Result<Self> {
        // A read of no bytes fails as a read of one would (read(2), EBADF).
        let _none = file.read(&mut [])?;
        Ok(Self(file))
    }

    /// Returns the file.
    #[must_use]
    pub fn into_inner(self) -> File {
        self.0
    }
}

impl Read for OutputFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_is_refused_at_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("image");
        let write_only = File::create(&path).expect("created");
        assert!(OutputFile::new(write_only).is_err());
        let both = File::options().read(true).write(true).open(&path);
        assert!(OutputFile::new(both.expect("opened")).is_ok());
    }
}
