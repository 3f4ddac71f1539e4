mod privacy;

use std::path::{Path, PathBuf};

pub use privacy::HomeError;

/// The directory for everything that msb keeps on this host (`MSB_HOME`).
///
/// | path below it | content |
/// |---|---|
/// | `store/` | images: see the `image-store` crate |
/// | `kernels/` | guest kernels, wrapped once, by digest; their stamps |
/// | `boot/` | boot disks, by the digest of the agent in them; their stamps |
/// | `staged/` | images of staged directories, by their keys |
/// | `volumes/` | one directory a named volume: its description and disk |
/// | `sandboxes/` | one directory a sandbox: its description, upper disk, socket and logs |
/// | `ssh/` | the key of the SSH server, and what its clients read |
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
    disk_metadata_bytes: u64,
}

impl Home {
    /// Returns the home at `root`. The filesystem is not touched.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            disk_metadata_bytes: ext4_writer::METADATA_MAX_BYTES,
        }
    }

    /// Returns the home with another limit on the memory for the metadata of a sandbox's disk, in
    /// bytes.
    #[must_use]
    pub fn with_disk_metadata_limit(self, disk_metadata_bytes: u64) -> Self {
        Self {
            disk_metadata_bytes,
            ..self
        }
    }

    /// Returns the limit on the memory for the metadata of a sandbox's disk, in bytes.
    pub const fn disk_metadata_bytes(&self) -> u64 {
        self.disk_metadata_bytes
    }

    /// Returns the path of the home itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the directory of wrapped kernels.
    pub fn kernels(&self) -> PathBuf {
        self.root.join("kernels")
    }

    /// Returns the directory of boot disks.
    pub fn boot_disks(&self) -> PathBuf {
        self.root.join("boot")
    }

    /// Returns the images of staged directories.
    pub fn staged_images(&self) -> staged_image::StagedImages {
        staged_image::StagedImages::new(self.root.join("staged"))
    }

    /// Returns the directory of named volumes.
    pub fn volumes(&self) -> PathBuf {
        self.root.join("volumes")
    }

    /// Returns the directory of the sandboxes.
    pub fn sandboxes(&self) -> PathBuf {
        self.root.join("sandboxes")
    }
}
