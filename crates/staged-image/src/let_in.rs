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
        let all = self.all()?;
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let prefix = prefix(image)?;
        let images = all.into_iter().filter_map(|path| {
            let number = name(&path).strip_prefix(&prefix)?.strip_suffix(SUFFIX)?;
            Some((number.parse::<u64>().ok()?, path))
        });
        let mut images: Vec<(u64, PathBuf)> = images.collect();
        images.sort_unstable();
        Ok(images)
    }

    /// Removes the images that belong to none of these images of staged directories.
    ///
    /// # Errors
    /// If an image cannot be read or removed.
    pub fn retain<'a>(&self, images: impl IntoIterator<Item = &'a PathBuf>) -> io::Result<()> {
        let all = self.all()?;
        if all.is_empty() {
            return Ok(());
        }
        let prefixes = images.into_iter().map(|image| prefix(image));
        let prefixes: Vec<String> = prefixes.collect::<io::Result<_>>()?;
        for path in all {
            let belongs = |prefix: &String| name(&path).starts_with(prefix);
            if !prefixes.iter().any(belongs) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Returns the paths of all images.
    fn all(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let paths = entries.map(|entry| Ok(entry?.path()));
        let mut paths = paths.collect::<io::Result<Vec<PathBuf>>>()?;
        paths.retain(|path| name(path).ends_with(SUFFIX));
        Ok(paths)
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

fn name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// Returns the beginning of the names of the images that belong to an image of staged directories.
fn prefix(image: &Path) -> io::Result<String> {
    let image = fs::File::open(image)?.into_parts().0;
    let image = erofs_writer::Image::open(image).map_err(io::Error::other)?;
    Ok(format!("{}-", hex::encode(image.superblock().uuid)))
}
