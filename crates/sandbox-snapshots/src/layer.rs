//! The images that a sandbox's staged directories consist of, below its disk.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use fs_err as fs;
use msb_runtime::SandboxPaths;
use staged_image::LetInImages;

/// The images below the disk of a sandbox with staged directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StagedLayer {
    /// The image of the directories as they were when they were staged.
    pub(crate) image: PathBuf,
    /// The images of files that were let in later, the oldest first.
    pub(crate) let_in: Vec<PathBuf>,
}

impl StagedLayer {
    /// Finds the images of a sandbox; `None` if it has no staged directory.
    pub(crate) fn find(files: &SandboxPaths) -> io::Result<Option<Self>> {
        let image = files.staged();
        if !fs::exists(&image)? {
            return Ok(None);
        }
        let let_in = LetInImages::new(files.let_in()).belonging_to(&image)?;
        Ok(Some(Self {
            image,
            let_in: let_in.into_iter().map(|(_, path)| path).collect(),
        }))
    }

    /// Opens all images, that of the directories first. They may be removed meanwhile.
    pub(crate) fn open(&self) -> io::Result<Vec<File>> {
        let paths = std::iter::once(&self.image).chain(&self.let_in);
        let files = paths.map(|path| Ok(fs::File::open(path)?.into_parts().0));
        files.collect()
    }

    /// Gives a new sandbox the images under second names, in its directory.
    pub(crate) fn share(&self, files: &SandboxPaths) -> io::Result<()> {
        fs::hard_link(&self.image, files.staged())?;
        if self.let_in.is_empty() {
            return Ok(());
        }
        let directory = files.let_in();
        durable_files::ensure_directory(&directory)?;
        for path in &self.let_in {
            if let Some(name) = path.file_name() {
                fs::hard_link(path, directory.join(name))?;
            }
        }
        durable_files::sync_directory(&directory)
    }
}
