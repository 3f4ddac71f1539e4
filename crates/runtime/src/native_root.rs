//! Native roots: a sandbox's disk is one ext4 with the image's files, whose content stays in the layers.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use ext4_writer::{FileContent, Layout, OpenedContent, OutsideRun, WriteError};
use fs_err as fs;
use fstree::{Extent, FileData, Tree};
use generations::{Base, BaseError, BlockFile, FileBlocks, FileRun};
use image_store::StoredImage;
use msb_patches::{NewFile, Patched, Patches};
use rootfs_view::Content;

use crate::sandbox::{AdoptError, NewDisk, SandboxPaths, UpperPool, own_mounts, upper_options};
use crate::{Home, Sandbox, Spec, UpperError};

/// A failure to make the disk of a native root.
#[derive(Debug, thiserror::Error)]
pub enum NativeRootError {
    /// ext4 cannot have the image's files.
    #[error("cannot lay out the image's files as an ext4 filesystem of {size_bytes} bytes")]
    Layout {
        /// The requested size, in bytes.
        size_bytes: u64,
        /// The error of the ext4 writer.
        #[source]
        source: WriteError,
    },
    /// The content of a file lies in no layer.
    #[error("the image's metadata names device {device}, and there are {layers} layers")]
    NoLayer {
        /// The number of the device.
        device: u16,
        /// The number of layers.
        layers: usize,
    },
    /// The disk cannot be made or written.
    #[error("cannot write the disk")]
    Disk(#[from] AdoptError),
    /// The disk that was made cannot be opened.
    #[error("cannot open the disk")]
    Open(#[from] generations::OpenError),
    /// The disk that was made cannot be prepared for writes.
    #[error("cannot prepare the disk")]
    Claim(#[source] generations::WriteError),
    /// The disk that was written cannot be made durable.
    #[error("cannot make the disk durable")]
    Flush(#[from] generations::FlushError),
}

impl Diagnose for NativeRootError {
    fn diagnosis(&self) -> Diagnosis {
        let refused = Diagnosis::new(ErrorKind::InvalidArgument);
        match self {
            Self::Layout {
                source: WriteError::Full { .. } | WriteError::Size { .. },
                ..
            } => refused.hint("choose a larger disk with --upper-size, or leave out --native-root"),
            Self::Layout {
                source: WriteError::Inode { .. },
                ..
            } => refused.hint("create the sandbox without --native-root"),
            Self::Layout { source, .. } => Diagnosis::of_foreign(source),
            Self::NoLayer { .. } => Diagnosis::default(),
            Self::Disk(source) => source.diagnosis(),
            Self::Open(source) => Diagnosis::of_foreign(source),
            Self::Claim(source) => Diagnosis::of_foreign(source),
            Self::Flush(source) => Diagnosis::of_foreign(source),
        }
    }
}

/// The content of a file on a native root.
#[derive(Debug)]
pub(crate) enum NativeFile {
    /// The content of the image's file stays in the layers.
    Layers(FileData),
    /// The file is new, and written.
    New(NewFile),
}

impl FileContent for NativeFile {
    fn size_bytes(&self) -> u64 {
        match self {
            Self::Layers(data) => data.size_bytes,
            Self::New(file) => file.size_bytes(),
        }
    }

    fn open(&self) -> io::Result<OpenedContent<'_>> {
        match self {
            Self::Layers(_) => Err(io::ErrorKind::Unsupported.into()),
            Self::New(file) => file.open(),
        }
    }

    fn outside(&self) -> Option<&[Extent]> {
        match self {
            Self::Layers(data) => Some(&data.extents),
            Self::New(_) => None,
        }
    }
}

/// Writes the disk of a new sandbox: its first generation is made of blocks of the layers, and its head has
/// the metadata.
pub(crate) fn write(
    home: &Home,
    sandbox: &Sandbox,
    image: &StoredImage,
    tree: &Tree<NativeFile>,
) -> Result<(), UpperError> {
    let Sandbox { files, spec, .. } = sandbox;
    let size_bytes = spec.upper_bytes;
    let options = upper_options(spec, size_bytes);
    let layout_error = |source| NativeRootError::Layout { size_bytes, source };
    let layout = Layout::new(tree, &options).map_err(layout_error)?;
    let base = FileBlocks {
        length_bytes: size_bytes,
        files: layers(home, files, image),
        runs: runs(layout.outside(), image.layers.len())?,
    };
    UpperPool::create_over(files, &Base::FileBlocks(base)).map_err(NativeRootError::Disk)?;
    let pool = UpperPool::existing(files).map_err(UpperError::Io)?;
    let mut disk = pool.open().map_err(NativeRootError::Open)?;
    disk.claim_zeros().map_err(NativeRootError::Claim)?;
    layout.write(NewDisk(&mut disk)).map_err(layout_error)?;
    Ok(disk.flush().map_err(NativeRootError::Flush)?)
}

/// Returns the tree of the root: that which an overlay of the image shows, with the changes before the first
/// boot.
pub(crate) fn files(
    image: Tree<FileData>,
    spec: &Spec,
    patches: &Patches,
) -> Result<Tree<NativeFile>, UpperError> {
    let image = rootfs_view::shown_image(image);
    let mut stored = Vec::new();
    let Ok(wanted) = image.try_map(|content| {
        stored.push(content);
        Ok::<_, Infallible>(NewFile::Bytes(Vec::new()))
    });
    let patched = Patched::new(wanted, patches, own_mounts(spec), spec.created_s)?;
    // The image's files come first in the arena, and none of them is changed: new ones are added.
    let mut stored = stored.into_iter();
    let Ok(tree) = patched.tree.try_map(|new| {
        Ok::<_, Infallible>(match stored.next() {
            Some(Content::Lower(data)) => NativeFile::Layers(data),
            _ => NativeFile::New(new),
        })
    });
    Ok(tree)
}

/// Returns the layers of an image as files that have blocks. Their paths stay true if the home is moved.
fn layers(home: &Home, files: &SandboxPaths, image: &StoredImage) -> Vec<BlockFile> {
    let records = image.record.layers.iter().zip(&image.layers);
    let layers = records.map(|(record, path)| BlockFile {
        path: from_generations(home, files, path),
        size_bytes: record.erofs.size_bytes,
        blake3: record.erofs.blake3.to_bytes(),
    });
    layers.collect()
}

/// Returns the path of a file of the home from the directory of a sandbox's generations; the path as it is if
/// symlinks lead elsewhere.
fn from_generations(home: &Home, files: &SandboxPaths, path: &Path) -> PathBuf {
    let up = Path::new("../..");
    let within = path.strip_prefix(home.root()).ok();
    // The file itself may be packed.
    let near = within.filter(|within| {
        let directory = files.directory.join(up).join(within.parent().unwrap_or(up));
        fs::exists(directory).is_ok_and(|there| there)
    });
    match near {
        Some(within) => Path::new("..").join(up).join(within),
        None => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}

/// Returns the blocks of the layers that are blocks of the disk. Device 0 is the image's metadata, which has no
/// content.
fn runs(outside: &[OutsideRun], layers: usize) -> Result<Vec<FileRun>, NativeRootError> {
    let runs = outside.iter().map(|run| {
        let device = run.device;
        let layer = device
            .checked_sub(1)
            .filter(|layer| usize::from(*layer) < layers);
        Ok(FileRun {
            first_block: run.start_block,
            count: run.blocks,
            file: layer.ok_or(NativeRootError::NoLayer { device, layers })?,
            file_block: run.device_block,
        })
    });
    runs.collect()
}

/// Checks that the layers are those that a native root was made of.
pub(crate) fn check_layers(blocks: &FileBlocks, image: &StoredImage) -> Result<(), BaseError> {
    let mut layers = image.record.layers.iter();
    for file in &blocks.files {
        let layer = layers.next();
        if layer.map(|layer| layer.erofs.blake3.to_bytes()) != Some(file.blake3) {
            return Err(BaseError::Changed {
                path: file.path.clone(),
                change: "the image has another layer in its place".to_owned(),
            });
        }
    }
    Ok(())
}
