use std::io::Read;
use std::path::Path;

use fstree::{FileData, FileKind, Metadata, PathError, TreeBuilder};

use super::{ImageOutput, ImageWriter, Options, OutputFile, Summary};
use crate::error::{BuildError, WriteError};

/// Writes an image from paths. Content is streamed to the output; the tree stays in memory until
/// [`Builder::finish`] writes it. Directories that a path implies are made.
///
/// # Examples
/// ```
/// use std::io::Cursor;
///
/// use erofs_writer::{Builder, Image, Options};
/// use fstree::Metadata;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut builder = Builder::new(Cursor::new(Vec::new()), Options::default())?;
/// builder
///     .file("etc/motd", Metadata::with_mode(0o644), &mut &b"hello\n"[..])?
///     .symlink("motd", Metadata::with_mode(0o777), "etc/motd")?;
/// let (out, summary) = builder.finish()?;
/// assert_eq!(summary.inodes, 4);
/// assert_eq!(Image::open(out.into_inner())?.files()?.read("motd")?, b"hello\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Builder<W: ImageOutput> {
    writer: ImageWriter<W>,
    tree: TreeBuilder<FileData>,
}

impl Builder<OutputFile> {
    /// Starts an image in the file at `path`, which is created or emptied.
    ///
    /// # Errors
    /// If the file cannot be opened, or the options are invalid.
    pub fn create(path: impl AsRef<Path>, options: Options) -> Result<Self, BuildError> {
        let out = OutputFile::create(path).map_err(WriteError::Create)?;
        Self::new(out, options)
    }
}

impl<W: ImageOutput> Builder<W> {
    /// Starts an image. The root is a directory with mode 0755; [`Builder::directory`] with the
    /// path `/` changes that.
    ///
    /// # Errors
    /// If the options are invalid, or the output fails.
    pub fn new(out: W, options: Options) -> Result<Self, BuildError> {
        Ok(Self {
            writer: ImageWriter::new(out, options)?,
            tree: TreeBuilder::new(Metadata::directory(0o755)),
        })
    }

    /// Makes a directory, or changes the attributes of one that a longer path has implied.
    ///
    /// # Errors
    /// If the path exists and is no directory, or cannot be made.
    pub fn directory(
        &mut self,
        path: impl AsRef<[u8]>,
        metadata: Metadata,
    ) -> Result<&mut Self, BuildError> {
        self.tree.directory(path, metadata)?;
        Ok(self)
    }

    /// Makes a regular file with everything that `content` still holds.
    ///
    /// # Errors
    /// If the path exists or cannot be made, or if the content or the output fails. After an error
    /// of content or output the builder can no longer be used.
    pub fn file(
        &mut self,
        path: impl AsRef<[u8]>,
        metadata: Metadata,
        content: &mut dyn Read,
    ) -> Result<&mut Self, BuildError> {
        let data = self.writer.append_all(content)?;
        self.tree.file(path, metadata, data)?;
        Ok(self)
    }

    /// Makes a symlink to `target`, which is not checked.
    ///
    /// # Errors
    /// If the path exists, or cannot be made.
    pub fn symlink(
        &mut self,
        path: impl AsRef<[u8]>,
        metadata: Metadata,
        target: impl AsRef<[u8]>,
    ) -> Result<&mut Self, BuildError> {
        self.tree.symlink(path, metadata, target)?;
        Ok(self)
    }

    /// Gives the file at `existing` a further name.
    ///
    /// # Errors
    /// If `existing` does not exist or is a directory, or if the path exists or cannot be made.
    pub fn hard_link(
        &mut self,
        path: impl AsRef<[u8]>,
        existing: impl AsRef<[u8]>,
    ) -> Result<&mut Self, BuildError> {
        self.tree.hard_link(path, existing)?;
        Ok(self)
    }

    /// Makes a device, a FIFO or a socket.
    ///
    /// # Errors
    /// If the path exists, or cannot be made.
    pub fn special(
        &mut self,
        path: impl AsRef<[u8]>,
        metadata: Metadata,
        kind: FileKind<FileData>,
    ) -> Result<&mut Self, PathError> {
        self.tree.add(path, metadata, kind)?;
        Ok(self)
    }

    /// Writes the metadata and the superblock. Returns the flushed output.
    ///
    /// # Errors
    /// If the tree holds something that EROFS cannot store, or the output fails.
    pub fn finish(self) -> Result<(W, Summary), BuildError> {
        Ok(self.writer.finish(&self.tree.finish())?)
    }
}
