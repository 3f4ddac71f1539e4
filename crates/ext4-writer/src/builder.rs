use std::fs::File;
use std::path::Path;

use fstree::{FileKind, Metadata, PathError, TreeBuilder};

use crate::error::{BuildError, WriteError};
use crate::{FileContent, Options, SparseOutput, Summary, write};

/// The content of a file of a [`Builder`].
type BoxedContent<'a> = Box<dyn FileContent + 'a>;

/// Writes an image from paths. Content is opened when [`Builder::write`] writes it, so only its
/// description stays in memory. Directories that a path implies are made.
///
/// # Examples
/// ```
/// use ext4_writer::{Builder, Image, Options};
/// use fstree::Metadata;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut builder = Builder::new();
/// builder
///     .file("etc/motd", Metadata::with_mode(0o644), b"hello\n".to_vec())?
///     .symlink("motd", Metadata::with_mode(0o777), "etc/motd")?;
/// let file = tempfile::tempfile()?;
/// builder.write(&Options { size_bytes: 64 << 20, ..Options::default() }, &file)?;
/// assert_eq!(Image::open(file)?.files()?.read("motd")?, b"hello\n");
/// # Ok(())
/// # }
/// ```
pub struct Builder<'a> {
    tree: TreeBuilder<BoxedContent<'a>>,
}

impl Default for Builder<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Builder<'a> {
    /// Returns a builder of an image whose root is a directory with mode 0755.
    /// [`Builder::directory`] with the path `/` changes that.
    #[must_use]
    pub fn new() -> Self {
        Self {
            tree: TreeBuilder::new(Metadata::directory(0o755)),
        }
    }

    /// Makes a directory, or changes the attributes of one that a longer path has implied.
    ///
    /// # Errors
    /// If the path exists and is no directory, or cannot be made.
    pub fn directory(
        &mut self,
        path: impl AsRef<[u8]>,
        metadata: Metadata,
    ) -> Result<&mut Self, PathError> {
        self.tree.directory(path, metadata)?;
        Ok(self)
    }

    /// Makes a regular file with this content.
    ///
    /// # Errors
    /// If the path exists, or cannot be made.
    pub fn file(
        &mut self,
        path: impl AsRef<[u8]>,
        metadata: Metadata,
        content: impl FileContent + 'a,
    ) -> Result<&mut Self, PathError> {
        self.tree.file(path, metadata, Box::new(content))?;
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
    ) -> Result<&mut Self, PathError> {
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
    ) -> Result<&mut Self, PathError> {
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
        kind: FileKind<BoxedContent<'a>>,
    ) -> Result<&mut Self, PathError> {
        self.tree.add(path, metadata, kind)?;
        Ok(self)
    }

    /// Writes the image to a new output.
    ///
    /// # Errors
    /// Fails as [`write()`] does.
    pub fn write(
        self,
        options: &Options,
        output: impl SparseOutput,
    ) -> Result<Summary, WriteError> {
        write(&self.tree.finish(), options, output)
    }

    /// Writes the image to the file at `path`, which must not exist.
    ///
    /// # Errors
    /// If the file exists or cannot be created, and those of [`write()`].
    pub fn create(self, path: impl AsRef<Path>, options: &Options) -> Result<Summary, BuildError> {
        let file = File::create_new(path).map_err(BuildError::Create)?;
        Ok(self.write(options, &file)?)
    }
}
