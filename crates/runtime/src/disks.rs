use std::fs::File;
use std::io;
use std::path::Path;

use diagnosis::{Diagnose, Diagnosis};
use fs_err as fs;
use fstree::ReadAt;
use generations::{FileStorage, Snapshot};
use image_store::{ImageLease, Store, StoredImage};
use rootfs_view::View;

use crate::at_rest::DiskAtRest;
use crate::sandbox::{ReadLock, UpperPool};
use crate::{Home, NoOverlay, Sandbox, SandboxAtRest};

/// The directory that the agent makes on the writable disk at each start, to mount its own ones there: its
/// parent and its name. It is no file of the sandbox.
const OWN_DIRECTORY: (&[u8], &[u8]) = (b"/run", b"msb");

/// The disks of a sandbox at rest, or of an image alone, as one filesystem. A stopped sandbox cannot
/// be started and the image cannot be removed while this value lives.
#[derive(Debug)]
pub(crate) struct Disks {
    pub(crate) view: View<DiskReader>,
    pub(crate) image: StoredImage,
    _lock: Option<ReadLock>,
    _lease: ImageLease,
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
        let SandboxAtRest { sandbox, disk } = at_rest;
        let (upper, lock) = match disk {
            DiskAtRest::Stopped(lock) => (open_upper(&sandbox)?, Some(lock)),
            DiskAtRest::Copied(copy) => (DiskReader::File(copy), None),
            DiskAtRest::Snapshot(snapshot) => (DiskReader::Generations(*snapshot), None),
        };
        let disks = Self::with_upper(&sandbox, upper, home)?;
        Ok(Self {
            _lock: lock,
            ..disks
        })
    }

    /// Opens the files that a sandbox began with, on a copy of its upper disk.
    pub(crate) fn of_base(
        sandbox: &Sandbox,
        base: fs::File,
        home: &Home,
    ) -> Result<Self, DisksError> {
        let base = DiskReader::File(base.into_parts().0);
        Self::with_upper(sandbox, base, home)
    }

    /// Opens the disks of a sandbox whose lock the caller holds.
    pub(crate) fn of_locked(sandbox: &Sandbox, home: &Home) -> Result<Self, DisksError> {
        Self::with_upper(sandbox, open_upper(sandbox)?, home)
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
            image,
            _lock: None,
            _lease: lease,
        })
    }

    /// Opens the disks of an image.
    pub(crate) fn of_image(image: StoredImage, home: &Home) -> Result<Self, DisksError> {
        let lease = Store::open(home.root())?.lease(&image)?;
        let (fsmeta, layers) = open_image(&image)?;
        Ok(Self {
            view: View::open_image(fsmeta, layers)?,
            image,
            _lock: None,
            _lease: lease,
        })
    }
}

/// Opens the writable disk of a sandbox that does not run.
pub(crate) fn open_upper(sandbox: &Sandbox) -> Result<DiskReader, DisksError> {
    match UpperPool::find(&sandbox.files)? {
        Some(pool) => Ok(DiskReader::Generations(pool.read()?)),
        None => Ok(open(&sandbox.files.upper())?),
    }
}

/// Opens an image's metadata and its layers.
fn open_image(image: &StoredImage) -> io::Result<(DiskReader, Vec<DiskReader>)> {
    let layers = image.layers.iter().map(|layer| open(layer));
    Ok((open(&image.fsmeta)?, layers.collect::<io::Result<_>>()?))
}

fn open(path: &Path) -> io::Result<DiskReader> {
    Ok(DiskReader::File(fs::File::open(path)?.into_parts().0))
}

/// A disk that is read.
#[derive(Debug)]
pub(crate) enum DiskReader {
    /// The file is the disk, or a file of the image.
    File(File),
    /// The disk is a list of generations.
    Generations(Snapshot<FileStorage>),
}

impl ReadAt for DiskReader {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        match self {
            Self::File(file) => ReadAt::read_exact_at(file, buf, offset_bytes),
            Self::Generations(disk) => disk.read_exact_at(buf, offset_bytes),
        }
    }

    fn size_bytes(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => file.size_bytes(),
            Self::Generations(disk) => ReadAt::size_bytes(disk),
        }
    }
}
