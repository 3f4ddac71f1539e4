use std::io::{self, Read as _};
use std::ops::Deref;

use fstree::{FileData, ReadAt, Tree};

use super::{FileReader, Image, ReadError};

/// The largest file that [`Files::read`] returns in memory, in bytes.
pub const READ_MAX_BYTES: u64 = 64 << 20;

/// The files of an image, by path: `read_dir`, `metadata`, `symlink_metadata`, `read_link` and the
/// other words of its [`Tree`], and their content. Symlinks are followed inside the image.
///
/// # Examples
/// ```no_run
/// use std::fs::File;
/// use std::io;
///
/// use erofs_writer::Image;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let image = Image::open(File::open("image.erofs")?)?;
/// let files = image.files()?;
/// for name in files.read_dir("etc")?.keys() {
///     println!("{}", String::from_utf8_lossy(name.as_bytes()));
/// }
/// io::copy(&mut files.open("etc/os-release")?, &mut io::stdout())?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Files<'image, R> {
    image: &'image Image<R>,
    tree: Tree<FileData>,
}

impl<R: ReadAt> Image<R> {
    /// Reads all metadata, and returns the files by path.
    ///
    /// # Errors
    /// If the image cannot be read, is corrupt, or is not supported.
    pub fn files(&self) -> Result<Files<'_, R>, ReadError> {
        Ok(Files {
            image: self,
            tree: self.read_tree()?,
        })
    }
}

impl<R: ReadAt> Files<'_, R> {
    /// Opens the regular file at `path`. Its content is read from the image itself, so the image
    /// has no other devices, or holds them behind itself.
    ///
    /// # Errors
    /// If the path does not lead to a regular file.
    pub fn open(&self, path: impl AsRef<[u8]>) -> io::Result<FileReader<'_, R>> {
        let data = self.tree.file(path).map_err(io::Error::other)?;
        Ok(self.image.file_reader(data, &[]))
    }

    /// Returns the content of the regular file at `path`, which has at most [`READ_MAX_BYTES`].
    ///
    /// # Errors
    /// If the path does not lead to a regular file, the file is larger, or the image cannot be
    /// read.
    pub fn read(&self, path: impl AsRef<[u8]>) -> io::Result<Vec<u8>> {
        let path = path.as_ref();
        let data = self.tree.file(path).map_err(io::Error::other)?;
        if data.size_bytes > READ_MAX_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!(
                    "'{}' has {} bytes, the limit is {READ_MAX_BYTES}",
                    String::from_utf8_lossy(path),
                    data.size_bytes
                ),
            ));
        }
        let mut content = Vec::new();
        self.image
            .file_reader(data, &[])
            .read_to_end(&mut content)?;
        Ok(content)
    }
}

impl<R> Deref for Files<'_, R> {
    type Target = Tree<FileData>;

    fn deref(&self) -> &Self::Target {
        &self.tree
    }
}
