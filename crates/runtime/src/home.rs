use std::path::{Path, PathBuf};

/// Everything msb keeps on this host, under one directory (`MSB_HOME`).
///
/// | below it | what |
/// |---|---|
/// | `store/` | images: see the `image-store` crate |
/// | `kernels/` | guest kernels, wrapped once, by digest; their stamps |
/// | `boot/` | boot disks, by the digest of the agent in them; their stamps |
/// | `volumes/` | one directory a named volume: its description and disk |
/// | `sandboxes/` | one directory a sandbox: its description, upper disk, socket and logs |
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// The home at `root`; nothing is touched yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where wrapped kernels lie.
    pub fn kernels(&self) -> PathBuf {
        self.root.join("kernels")
    }

    /// Where boot disks lie.
    pub fn boot_disks(&self) -> PathBuf {
        self.root.join("boot")
    }

    /// Where named volumes lie.
    pub fn volumes(&self) -> PathBuf {
        self.root.join("volumes")
    }

    /// Where sandboxes live.
    pub fn sandboxes(&self) -> PathBuf {
        self.root.join("sandboxes")
    }
}
