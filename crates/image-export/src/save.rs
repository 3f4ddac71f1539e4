use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use durable_files::{UnfinishedDirectory, UnfinishedFile, directory_of};
use fs_err as fs;
use image_store::Store;
use serde::{Deserialize, Serialize};

use crate::output::{DirectoryOutput, Output, TarOutput};
use crate::selection::{Selected, select};
use crate::{LayerCompression, SaveError, docker, oci};

/// Bytes of the archive that are written at a time.
const BUFFER_BYTES: usize = 256 * 1024;

/// The form of a saved archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SaveFormat {
    /// The archive of `docker save`: configs and plain tars, which are not compressed, with a table of images.
    #[default]
    DockerArchive,
    /// An OCI layout in a tar.
    OciArchive,
    /// An OCI layout in a new directory.
    OciDir,
}

/// Options of a save.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SaveOptions {
    /// Form of the archive.
    pub format: SaveFormat,
    /// Compression of the layers of an OCI layout. Those of docker's archive are never compressed.
    pub compression: LayerCompression,
}

/// Destination of an archive.
pub enum SaveTarget<'a> {
    /// A file, which is replaced when the archive is complete, or a new directory.
    Path(PathBuf),
    /// A stream, which has the beginning of an archive if the save fails.
    Stream(&'a mut (dyn Write + Send)),
}

/// Writes an archive of these images, each named by a name, a digest or the beginning of a digest.
/// A name is kept in the archive. Blocks the thread; `is_cancelled` is asked again and again.
///
/// # Errors
/// If an image is not in the store, an older msb stored it, its layers do not give the tars that
/// were read, or the archive cannot be written. A file at the destination is then unchanged.
pub fn save(
    store: &Store,
    names: &[String],
    options: &SaveOptions,
    target: SaveTarget<'_>,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(), SaveError> {
    let images = select(store, names)?;
    let work = Work {
        store,
        images: &images,
        options,
        is_cancelled,
    };
    match (target, options.format) {
        (SaveTarget::Path(path), SaveFormat::OciDir) => work.directory(&path),
        (SaveTarget::Stream(_), SaveFormat::OciDir) => Err(SaveError::NeedsPath),
        (SaveTarget::Path(path), _) => work.file(&path),
        (SaveTarget::Stream(stream), _) => work.tar(stream),
    }
}

struct Work<'a> {
    store: &'a Store,
    images: &'a [Selected],
    options: &'a SaveOptions,
    is_cancelled: &'a dyn Fn() -> bool,
}

impl Work<'_> {
    /// Writes a file that is complete or absent. What is no file, such as a pipe, is written to.
    fn file(&self, path: &Path) -> Result<(), SaveError> {
        let is_other = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        if is_other {
            let file = fs::OpenOptions::new().write(true).open(path);
            return self.tar(&mut file.map_err(SaveError::Output)?);
        }
        let parent = parent_exists(path)?;
        let mut unfinished = UnfinishedFile::create(&parent).map_err(SaveError::Output)?;
        self.tar(unfinished.file())?;
        unfinished.publish(path, &parent).map_err(SaveError::Output)
    }

    fn tar(&self, out: &mut dyn Write) -> Result<(), SaveError> {
        let mut output = TarOutput::new(BufWriter::with_capacity(BUFFER_BYTES, out));
        self.write(&mut output)?;
        output.finish().map(drop)
    }

    /// Writes a directory that is complete or absent.
    fn directory(&self, path: &Path) -> Result<(), SaveError> {
        if fs::symlink_metadata(path).is_ok() {
            let path = path.to_owned();
            return Err(SaveError::Exists { path });
        }
        let parent = parent_exists(path)?;
        let unfinished = UnfinishedDirectory::create(&parent).map_err(SaveError::Output)?;
        let mut output = DirectoryOutput::new(unfinished.path());
        self.write(&mut output)?;
        output.finish()?;
        unfinished.publish(path, &parent).map_err(SaveError::Output)
    }

    fn write(&self, output: &mut dyn Output) -> Result<(), SaveError> {
        let Self {
            store,
            images,
            options,
            is_cancelled,
        } = *self;
        if options.format == SaveFormat::DockerArchive {
            return docker::write(store, images, output, is_cancelled);
        }
        oci::write(store, images, options, output, is_cancelled)
    }
}

/// Returns the directory of a path, which must exist.
fn parent_exists(path: &Path) -> Result<PathBuf, SaveError> {
    let parent = directory_of(path);
    match fs::metadata(parent) {
        Ok(metadata) if metadata.is_dir() => Ok(parent.to_owned()),
        Ok(_) => Err(SaveError::Output(io::ErrorKind::NotADirectory.into())),
        Err(error) => Err(SaveError::Output(error)),
    }
}
