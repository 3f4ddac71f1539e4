//! The images that a sandbox's staged directories consist of, below its disk.
//!
//! Directories that are staged anew get a new disk, so all states that go back to it have its first generation. The
//! image has the name of that generation, and every list of generations says which image is below it, whatever a
//! process that ends early leaves. States without such an image lie over the first one, `staged.erofs`.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use fs_err as fs;
use generations::{GenerationId, State};
use msb_runtime::{SandboxPaths, current_staged, staged_below};
use staged_image::LetInImages;

/// The images below a state of the disk of a sandbox with staged directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedLayer {
    /// The image of the directories as they were when they were staged.
    pub image: PathBuf,
    /// The images of files that were let in later, the oldest first.
    pub let_in: Vec<PathBuf>,
}

impl StagedLayer {
    /// Finds the images below the disk of a sandbox; `None` if it has no staged directory.
    ///
    /// # Errors
    /// If the sandbox's directory or an image cannot be read.
    pub fn current(files: &SandboxPaths) -> io::Result<Option<Self>> {
        Self::of_image(files, current_staged(files)?)
    }

    /// Finds the images below a state; `None` if the sandbox has no staged directory.
    pub(crate) fn below(files: &SandboxPaths, state: &State) -> io::Result<Option<Self>> {
        Self::of_image(files, staged_below(files, state)?)
    }

    fn of_image(files: &SandboxPaths, image: PathBuf) -> io::Result<Option<Self>> {
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
    ///
    /// # Errors
    /// If an image cannot be opened.
    pub fn open(&self) -> io::Result<Vec<File>> {
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

/// Puts an image below all states whose oldest generation is this one, durably. No list has the generation yet.
pub(crate) fn put_below(
    files: &SandboxPaths,
    oldest: GenerationId,
    image: &Path,
) -> io::Result<()> {
    if image == files.staged() {
        return Ok(());
    }
    let directory = files.layers();
    durable_files::ensure_directory(&directory)?;
    durable_files::sync_directory(&files.directory)?;
    fs::hard_link(image, files.layer(oldest))?;
    durable_files::sync_directory(&directory)
}

/// Puts the image that is below merged generations, the oldest first, below the one that they become.
pub(crate) fn follow_merge(
    files: &SandboxPaths,
    from: &[GenerationId],
    into: GenerationId,
) -> io::Result<()> {
    match from.first().map(|oldest| files.layer(*oldest)) {
        Some(image) if fs::exists(&image)? => put_below(files, into, &image),
        _ => Ok(()),
    }
}

/// Returns true if two states lie over the same image.
pub(crate) fn is_same(files: &SandboxPaths, one: &State, other: &State) -> io::Result<bool> {
    let (one, other) = (staged_below(files, one)?, staged_below(files, other)?);
    if one == other {
        return Ok(true);
    }
    let (one, other) = (fs::metadata(one)?, fs::metadata(other)?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// Removes the images that none of the states lies over, with the files that were let in over them. The caller
/// knows all states, and has the right to remove generations.
pub(crate) fn remove_unneeded<'a>(
    files: &SandboxPaths,
    states: impl IntoIterator<Item = &'a State>,
) -> io::Result<()> {
    let entries = match fs::read_dir(files.layers()) {
        // Nothing was staged anew.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let states = states.into_iter();
    let needed = states.map(|state| staged_below(files, state));
    let mut needed: HashSet<PathBuf> = needed.collect::<io::Result<_>>()?;
    // One that is missing is missed by its readers.
    needed.retain(|image| !matches!(fs::exists(image), Ok(false)));
    for entry in entries {
        let path = entry?.path();
        if !needed.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    if !needed.contains(&files.staged()) {
        match fs::remove_file(files.staged()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    LetInImages::new(files.let_in()).retain(&needed)
}
