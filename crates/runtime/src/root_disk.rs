//! Disk images as the roots of sandboxes.

use std::io;
use std::path::PathBuf;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use disk_image::{
    DiskImage, Filesystem, Format, OpenError, RootChoice, RootError, Unsupported, find_root,
};
use durable_files::open_regular;
use fs_err as fs;
use generations::{Base, ImagePart, Stamp};
use serde::{Deserialize, Serialize};

use crate::{Sandbox, staged};

/// The disk image that a sandbox's root begins with. The file is only read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootDisk {
    /// The absolute path of the file.
    pub path: PathBuf,
    /// The format of the file.
    pub format: Format,
    /// The root filesystem.
    pub filesystem: Filesystem,
    /// The number of the partition; `None` if the whole disk is the filesystem.
    pub partition: Option<u32>,
}

/// A disk image that may be the root of a sandbox, and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootDiskChoice {
    /// The path of the file.
    pub path: PathBuf,
    /// The format; `None` to find it out.
    pub format: Option<Format>,
    /// The filesystem; `None` to find it out.
    pub filesystem: Option<Filesystem>,
    /// The number of the partition; `None` to find it out.
    pub partition: Option<u32>,
}

/// A disk image that was looked into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRootDisk {
    /// The description for the sandbox.
    pub disk: RootDisk,
    /// The part of the image that is the root filesystem.
    pub(crate) base: Base,
}

/// A disk image cannot be the root of a sandbox.
#[derive(Debug, thiserror::Error)]
pub enum RootDiskError {
    /// The file cannot be opened or read.
    #[error("cannot open {}", .path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The error of the host.
        #[source]
        source: io::Error,
    },
    /// The path names a directory, a device or a pipe.
    #[error("{} is not a regular file", .path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file is no disk image that can be read.
    #[error("cannot use {} as a disk image", .path.display())]
    Image {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: disk_image::OpenError,
    },
    /// The disk has no root filesystem that can be used.
    #[error("cannot use {} as a root", .path.display())]
    Root {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: RootError,
    },
    /// The filesystem cannot be written to.
    #[error("cannot use {} as a root: {filesystem} is read-only", .path.display())]
    ReadOnly {
        /// The path of the file.
        path: PathBuf,
        /// The filesystem.
        filesystem: Filesystem,
    },
}

impl Diagnose for RootDiskError {
    fn diagnosis(&self) -> Diagnosis {
        let refused = |path| Diagnosis::new(ErrorKind::InvalidArgument).detail("path", path);
        match self {
            Self::Io { path, source } if source.kind() == io::ErrorKind::NotFound => {
                Diagnosis::new(ErrorKind::PathNotFound).detail("path", path)
            }
            Self::Io { source, .. } => source.diagnosis(),
            Self::NotAFile { path } | Self::ReadOnly { path, .. } => refused(path),
            Self::Image { path, source } => {
                let names_others = matches!(
                    source,
                    OpenError::Unsupported(
                        Unsupported::BackingFile { .. } | Unsupported::ExternalData
                    )
                );
                let hint = format!(
                    "make one file of it with qemu-img convert -O qcow2 {} NEW",
                    path.display()
                );
                refused(path).with_hints(names_others.then_some(hint))
            }
            Self::Root { path, source } => refused(path).with_hints(match source {
                RootError::Ambiguous { .. } | RootError::NoPartition { .. } => Some(format!(
                    "name the partition with --root-disk {}:partition=N",
                    path.display()
                )),
                RootError::Unusable { unusable, .. } if unusable.filesystem.is_some() => {
                    Some("unmount it, or end the machine that runs on it".to_owned())
                }
                _ => None,
            }),
        }
    }
}

impl RootDiskChoice {
    /// Looks into the disk image: its tables are checked, and its root filesystem is found.
    ///
    /// # Errors
    /// A file that cannot be read, a format or a feature that is not supported, damage, and a disk without a
    /// root filesystem that can be used.
    pub fn find(&self) -> Result<FoundRootDisk, RootDiskError> {
        let path = &self.path;
        let io_error = |source| RootDiskError::Io {
            path: path.clone(),
            source,
        };
        let absolute = fs::canonicalize(path).map_err(io_error)?;
        let file = open_regular(&absolute).map_err(|source| match source.kind() {
            io::ErrorKind::InvalidInput => RootDiskError::NotAFile { path: path.clone() },
            _ => io_error(source),
        })?;
        let file = file.into_parts().0;
        let stamp = Stamp::from(&file.metadata().map_err(io_error)?);
        let image_error = |source| RootDiskError::Image {
            path: path.clone(),
            source,
        };
        let image = DiskImage::open(file, self.format).map_err(image_error)?;
        image.check().map_err(image_error)?;
        let choice = RootChoice {
            partition: self.partition,
            filesystem: self.filesystem,
        };
        let found = find_root(&image, choice);
        let root = found.map_err(|source| RootDiskError::Root {
            path: path.clone(),
            source,
        })?;
        if root.filesystem == Filesystem::Erofs {
            return Err(RootDiskError::ReadOnly {
                path: path.clone(),
                filesystem: root.filesystem,
            });
        }
        Ok(FoundRootDisk {
            disk: RootDisk {
                path: absolute.clone(),
                format: image.format(),
                filesystem: root.filesystem,
                partition: root.partition,
            },
            base: Base::ImagePart(ImagePart {
                path: absolute,
                format: image.format(),
                start_bytes: root.start_bytes,
                length_bytes: root.length_bytes,
                stamp,
            }),
        })
    }
}

/// The root of a sandbox is no overlay of an image and an upper disk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoOverlay {
    /// The root is a disk image, and there is no image whose files could be compared or read.
    #[error(
        "the root of sandbox {name} is the disk image {}, whose files only its guest can read",
        .path.display()
    )]
    DiskImage {
        /// Name of the sandbox.
        name: String,
        /// The path of the disk image.
        path: PathBuf,
    },
    /// The root is native, and has no upper disk with the changes alone.
    #[error(
        "sandbox {name} has a native root, whose changes are not stored separately from the \
         image's files"
    )]
    Native {
        /// Name of the sandbox.
        name: String,
    },
}

impl Diagnose for NoOverlay {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::DiskImage { .. } | Self::Native { .. } => Diagnosis::new(ErrorKind::Unsupported),
        }
    }
}

impl Sandbox {
    /// Checks that the sandbox's root is an image, whose files can be read without the guest.
    ///
    /// # Errors
    /// If its root is a disk image.
    pub fn check_has_image(&self) -> Result<(), NoOverlay> {
        match &self.spec.root_disk {
            None => Ok(()),
            Some(disk) => Err(NoOverlay::DiskImage {
                name: self.spec.name.clone(),
                path: disk.path.clone(),
            }),
        }
    }

    /// Checks that changes of the sandbox are stored separately: those to its image, or those of staged
    /// directories.
    ///
    /// # Errors
    /// If it has neither an overlay nor staged directories.
    pub fn check_has_changes(&self) -> Result<(), NoOverlay> {
        if staged(&self.spec.mounts).next().is_some() {
            return self.check_has_image();
        }
        self.check_has_overlay()
    }

    /// Checks that the sandbox's root is an overlay, whose upper disk has the changes to its image.
    ///
    /// # Errors
    /// If it has no overlay.
    pub fn check_has_overlay(&self) -> Result<(), NoOverlay> {
        self.check_has_image()?;
        if self.spec.native_root {
            let name = self.spec.name.clone();
            return Err(NoOverlay::Native { name });
        }
        Ok(())
    }
}
