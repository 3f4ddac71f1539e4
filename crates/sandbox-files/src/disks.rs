use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use diagnosis::{Diagnose, Diagnosis};
use fs_err as fs;
use fstree::ReadAt;
use generations::{FileStorage, Snapshot};
use image_store::{ArtifactFile, ImageLease, Store, StoredImage};
use msb_runtime::{Home, NoOverlay, ReadLock, Sandbox, UpperPool, staged_targets};
use msb_sandbox_snapshots::{OpenState, StagedLayer};
use rootfs_view::View;

use crate::SandboxAtRest;
use crate::at_rest::DiskAtRest;

/// The directory that the agent makes on the writable disk at each start, to mount its own ones there: its
/// parent and its name. It is no file of the sandbox.
const OWN_DIRECTORY: (&[u8], &[u8]) = (b"/run", b"msb");

/// The disks of a sandbox at rest, or of an image alone, as one filesystem: the root filesystem, or that of
/// all staged directories. A stopped sandbox cannot be started and the image cannot be removed while this
/// value lives.
#[derive(Debug)]
pub(crate) struct Disks {
    pub(crate) view: View<DiskReader>,
    pub(crate) lower: Lower,
    lock: Option<Arc<ReadLock>>,
    _lease: Option<ImageLease>,
}

/// The files below the writable disk. Inodes of equal ones have the same numbers.
#[derive(Debug, Clone)]
pub(crate) enum Lower {
    /// An image.
    Image(Box<StoredImage>),
    /// The image of the staged directories, by its device and inode.
    Staged((u64, u64)),
}

impl Lower {
    /// Returns true if both are the same files.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Image(one), Self::Image(other)) => {
                one.fsmeta == other.fsmeta && one.layers == other.layers
            }
            (Self::Staged(one), Self::Staged(other)) => one == other,
            _ => false,
        }
    }

    /// Returns the layers that data is in; none if all of it is in the lower image itself.
    pub(crate) fn layers(&self) -> &[PathBuf] {
        match self {
            Self::Image(image) => &image.layers,
            Self::Staged(_) => &[],
        }
    }
}

/// The writable disk of a sandbox at rest, which several filesystems are read from.
#[derive(Debug, Clone)]
pub(crate) struct OpenUpper {
    sandbox: Sandbox,
    disk: DiskReader,
    /// The images of the staged directories: that of the directories first, then those of files that were let in.
    staged: Vec<Arc<File>>,
    lock: Option<Arc<ReadLock>>,
}

impl OpenUpper {
    /// Opens the disk.
    pub(crate) fn new(at_rest: SandboxAtRest) -> Result<Self, DisksError> {
        let SandboxAtRest { sandbox, disk } = at_rest;
        let (disk, staged, lock) = match disk {
            DiskAtRest::Stopped(lock) => {
                let lock = Some(Arc::new(lock));
                (open_upper(&sandbox)?, open_current_staged(&sandbox)?, lock)
            }
            DiskAtRest::Snapshot(state) => {
                let OpenState { disk, staged } = *state;
                (DiskReader::Generations(Arc::new(disk)), staged, None)
            }
        };
        Ok(Self {
            sandbox,
            disk,
            staged: staged.into_iter().map(Arc::new).collect(),
            lock,
        })
    }

    /// Opens the disk of a sandbox whose lock the caller holds.
    pub(crate) fn of_locked(sandbox: &Sandbox) -> Result<Self, DisksError> {
        let staged = open_current_staged(sandbox)?.into_iter();
        Ok(Self {
            sandbox: sandbox.clone(),
            disk: open_upper(sandbox)?,
            staged: staged.map(Arc::new).collect(),
            lock: None,
        })
    }

    /// Returns the root filesystem.
    pub(crate) fn root(&self, home: &Home) -> Result<Disks, DisksError> {
        let disks = Disks::with_upper(&self.sandbox, self.disk.clone(), home)?;
        Ok(Disks {
            lock: self.lock.clone(),
            ..disks
        })
    }

    /// Returns the filesystem of the staged directories; `None` if there are none.
    pub(crate) fn staged(&self, home: &Home) -> Result<Option<Disks>, DisksError> {
        let targets = staged_targets(&self.sandbox.spec.mounts);
        if targets.is_empty() {
            return Ok(None);
        }
        let Some((image, let_in)) = self.staged.split_first() else {
            return Err(io::Error::from(io::ErrorKind::NotFound).into());
        };
        let identity = identity(image)?;
        let reader = |file: &Arc<File>| DiskReader::File(Arc::clone(file));
        let (upper, limit) = (self.disk.clone(), home.disk_metadata_bytes());
        let mut view = View::open_staged(upper, reader(image), &targets, limit)?;
        view.let_in(let_in.iter().map(reader).collect(), &targets)?;
        Ok(Some(Disks {
            lock: self.lock.clone(),
            ..Disks::of_lower(view, Lower::Staged(identity))
        }))
    }
}

/// The disks of a sandbox, or of an image, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DisksError {
    /// The file of a disk, or the sandbox's lock, cannot be opened.
    #[error("cannot open them")]
    Io(#[from] io::Error),
    /// The image store cannot be opened.
    #[error("cannot open the image store")]
    Store(#[from] image_store::OpenError),
    /// The writable disk's generations cannot be opened.
    #[error("cannot open the writable disk")]
    Generations(#[from] generations::OpenError),
    /// The sandbox has no overlay, which is what is to be read or compared.
    #[error(transparent)]
    NoOverlay(#[from] NoOverlay),
    /// The sandbox's image cannot be found.
    #[error("cannot use its image")]
    Image(#[from] image_store::FindError),
    /// The content of the disks is not a valid root filesystem.
    #[error("they do not form a root filesystem")]
    View(#[from] rootfs_view::OpenError),
}

impl Diagnose for DisksError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Io(source) => source.diagnosis(),
            Self::Store(source) => source.diagnosis(),
            Self::Generations(source) => Diagnosis::of_foreign(source),
            Self::NoOverlay(source @ NoOverlay::DiskImage { .. }) => source
                .diagnosis()
                .hint("start the sandbox: its guest reads them"),
            Self::NoOverlay(source @ NoOverlay::Native { .. }) => source.diagnosis(),
            Self::Image(source) => source.diagnosis(),
            Self::View(rootfs_view::OpenError::UpperMemory { .. }) => Diagnosis::default().hint(
                "if you trust the sandbox, raise the limit with MSB_LIMITS=disk-metadata=VALUE",
            ),
            Self::View(source) => Diagnosis::of_foreign(source),
        }
    }
}

impl Disks {
    /// Opens the disks of a sandbox at rest.
    pub(crate) fn of_sandbox(at_rest: SandboxAtRest, home: &Home) -> Result<Self, DisksError> {
        OpenUpper::new(at_rest)?.root(home)
    }

    /// Opens the files that a sandbox began with, on a copy of its upper disk.
    pub(crate) fn of_base(
        sandbox: &Sandbox,
        base: fs::File,
        home: &Home,
    ) -> Result<Self, DisksError> {
        let base = DiskReader::File(Arc::new(base.into_parts().0));
        Self::with_upper(sandbox, base, home)
    }

    fn with_upper(sandbox: &Sandbox, upper: DiskReader, home: &Home) -> Result<Self, DisksError> {
        sandbox.check_has_image()?;
        let store = Store::open(home.root())?;
        let image = store.find(&sandbox.spec.image_digest)?;
        let lease = store.lease(&image)?;
        let (fsmeta, layers) = open_image(&image)?;
        let open_view = if sandbox.spec.native_root {
            View::open_native
        } else {
            View::open_within
        };
        let mut view = open_view(upper, fsmeta, layers, home.disk_metadata_bytes())?;
        let (above, name) = OWN_DIRECTORY;
        view.leave_out_empty(above, name);
        Ok(Self {
            view,
            lower: Lower::Image(Box::new(image)),
            lock: None,
            _lease: Some(lease),
        })
    }

    /// Returns a view that nothing has to be kept for.
    pub(crate) const fn of_lower(view: View<DiskReader>, lower: Lower) -> Self {
        Self {
            view,
            lower,
            lock: None,
            _lease: None,
        }
    }

    /// Returns the right to read the writable disk of a stopped sandbox; `None` for other disks.
    pub(crate) fn read_lock(&self) -> Option<&ReadLock> {
        self.lock.as_deref()
    }

    /// Opens the disks of an image.
    pub(crate) fn of_image(image: StoredImage, home: &Home) -> Result<Self, DisksError> {
        let lease = Store::open(home.root())?.lease(&image)?;
        let (fsmeta, layers) = open_image(&image)?;
        Ok(Self {
            view: View::open_image(fsmeta, layers)?,
            lower: Lower::Image(Box::new(image)),
            lock: None,
            _lease: Some(lease),
        })
    }
}

/// Opens the writable disk of a sandbox that does not run.
pub(crate) fn open_upper(sandbox: &Sandbox) -> Result<DiskReader, DisksError> {
    let disk = UpperPool::existing(&sandbox.files)?.read()?;
    Ok(DiskReader::Generations(Arc::new(disk)))
}

/// Opens the images of staged directories that the disk of a sandbox lies over; none without such directories.
fn open_current_staged(sandbox: &Sandbox) -> io::Result<Vec<File>> {
    let layer = StagedLayer::current(&sandbox.files)?;
    layer.map_or_else(|| Ok(Vec::new()), |layer| layer.open())
}

/// Opens a file as a disk, and returns its device and inode, too.
pub(crate) fn open_file(path: &Path) -> io::Result<(DiskReader, (u64, u64))> {
    let file = fs::File::open(path)?.into_parts().0;
    let identity = identity(&file)?;
    Ok((DiskReader::File(Arc::new(file)), identity))
}

/// Returns the device and the inode of a file.
fn identity(file: &File) -> io::Result<(u64, u64)> {
    let metadata = file.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Opens an image's metadata and its layers.
fn open_image(image: &StoredImage) -> io::Result<(DiskReader, Vec<DiskReader>)> {
    let (fsmeta, layers) = image.open()?;
    let reader = |file| DiskReader::Artifact(Arc::new(file));
    Ok((reader(fsmeta), layers.into_iter().map(reader).collect()))
}

/// A disk that is read.
#[derive(Debug, Clone)]
pub(crate) enum DiskReader {
    /// The file is the disk.
    File(Arc<File>),
    /// A file of the image, whatever form it has.
    Artifact(Arc<ArtifactFile>),
    /// The disk is a list of generations.
    Generations(Arc<Snapshot<FileStorage>>),
}

impl ReadAt for DiskReader {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        match self {
            Self::File(file) => ReadAt::read_exact_at(&**file, buf, offset_bytes),
            Self::Artifact(file) => file.read_exact_at(buf, offset_bytes),
            Self::Generations(disk) => disk.read_exact_at(buf, offset_bytes),
        }
    }

    fn size_bytes(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => file.size_bytes(),
            Self::Artifact(file) => file.size_bytes(),
            Self::Generations(disk) => ReadAt::size_bytes(&**disk),
        }
    }
}
