use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;

/// The end of an image's name.
const SUFFIX: &str = ".erofs";

/// The directory of the images of files that were let into a sandbox's staged directories later. Each belongs to
/// an image of staged directories, whose UUID its name begins with.
#[derive(Debug, Clone)]
pub struct LetInImages {
    directory: PathBuf,
}

impl LetInImages {
    /// The most images that belong to one image of staged directories. Each is an open file while the changes of
    /// a sandbox are compared.
    pub const MAX: usize = 256;

    /// Returns the images in a directory, which need not exist.
    pub const fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Returns the images that belong to an image of staged directories, with their numbers, the oldest first.
    ///
    /// # Errors
    /// If the image or the directory cannot be read.
    pub fn belonging_to(&self, image: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let prefix = prefix(image)?;
        let mut images = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let number = name
                .strip_prefix(&prefix)
                .and_then(|name| name.strip_suffix(SUFFIX));
            if let Some(number) = number.and_then(|number| number.parse().ok()) {
                images.push((number, path));
            }
        }
        images.sort_unstable();
        Ok(images)
    }

    /// Returns the path of an image with a number, which belongs to an image of staged directories.
    ///
    /// # Errors
    /// If the image of the staged directories cannot be read.
    pub fn path(&self, image: &Path, number: u64) -> io::Result<PathBuf> {
        let name = format!("{}{number}{SUFFIX}", prefix(image)?);
        Ok(self.directory.join(name))
    }
}

/// Returns the beginning of the names of the images that belong to an image of staged directories.
fn prefix(image: &Path) -> io::Result<String> {
    let image = fs::File::open(image)?.into_parts().0;
    let image = erofs_writer::Image::open(image).map_err(io::Error::other)?;
    Ok(format!("{}-", hex::encode(image.superblock().uuid)))
}
