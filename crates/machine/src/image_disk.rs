//! The image's disk, which the VMM process serves to its VMM, read-only.
//!
//! It consists of metadata and layers, the extents of the launch spec. They are opened with their trees
//! before the process gives up its rights, so the thread that serves the disk needs no file. Each read is
//! verified: the guest gets the bytes that were stored or an I/O error, and never others.

use std::error::Error as _;
use std::fs::File;
use std::io;
use std::iter::successors;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use image_store::{DiskExtent, ExtentError};
use msb_runtime::{IMAGE_SERIAL, LaunchSpec};
use range_disk::{PushError, RangeDisk};
use verified_file::{ReadError, VerifiedFile};
use vhost_block::{BlockDevice, Identity};

use crate::disk_server::end_machine;
use crate::log::log_line;
use crate::one_connection::one_connection;

/// The remedy for a block that nobody can give the guest.
const REPAIR: &str = "msb image verify --repair fetches it again";

/// The image's disk cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ImageDiskError {
    /// A file of the disk cannot be opened.
    #[error(transparent)]
    Open(#[from] ExtentError),
    /// An extent does not lie in its file.
    #[error("an extent of the image's disk does not lie in its file")]
    Extent(#[from] PushError),
}

/// The content of the disk.
pub(crate) type Extents = RangeDisk<VerifiedFile<File, File>>;

/// The image's disk, open and not served yet.
#[derive(Debug)]
pub(crate) struct ImageDisk {
    extents: Extents,
}

/// The disk and the socket that accepts the connection of its VMM.
#[derive(Debug)]
pub(crate) struct ImageServer {
    extents: Extents,
    listener: UnixListener,
}

/// Opens the image's disk; `None` if the machine has none.
pub(crate) fn open(launch_spec: &LaunchSpec) -> Result<Option<ImageDisk>, ImageDiskError> {
    let mut disks = launch_spec.machine.disks.iter();
    if !disks.any(|disk| disk.serial == IMAGE_SERIAL) {
        return Ok(None);
    }
    let extents = open_extents(&launch_spec.image_extents)?;
    Ok(Some(ImageDisk { extents }))
}

fn open_extents(extents: &[DiskExtent]) -> Result<Extents, ImageDiskError> {
    let mut disk = Extents::new();
    for extent in extents {
        let file = extent.open()?.with_log(log_failure);
        disk.push(file, extent.offset_bytes, extent.length_bytes)?;
    }
    Ok(disk)
}

/// Logs a block that could not be verified. The guest gets an I/O error for it.
fn log_failure(failure: &ReadError) {
    let causes = successors(failure.source(), |&cause| cause.source());
    let causes: String = causes.map(|cause| format!(": {cause}")).collect();
    log_line(&format!("{failure}{causes}; {REPAIR}"));
}

impl ImageDisk {
    /// Returns the disk for a VMM that calls it.
    pub(crate) fn called(self) -> Extents {
        self.extents
    }

    /// Connects the disk by a socket that has this path for a moment. Returns the VMM's end.
    pub(crate) fn connect(self, path: &Path) -> io::Result<(OwnedFd, ImageServer)> {
        let (listener, connected) = one_connection(path)?;
        let extents = self.extents;
        Ok((connected, ImageServer { extents, listener }))
    }
}

impl ImageServer {
    /// Serves the disk until the VMM ends. Ends the process if the disk cannot be served while the VMM goes on: the
    /// guest would wait for its requests indefinitely.
    pub(crate) fn serve(self) {
        let identity = Identity {
            serial: IMAGE_SERIAL.to_owned(),
            is_read_only: true,
        };
        let disk = Arc::new(Mutex::new(self.extents));
        let give_up = |reason: &io::Error| end_machine("the image's disk", reason);
        let device = BlockDevice::new(disk, &identity, give_up);
        if let Err(error) = device.serve(self.listener) {
            end_machine("the image's disk", &error);
        }
    }
}

#[cfg(test)]
mod tests;
