//! The image's disk, which the VMM process serves to its VMM, read-only.
//!
//! It consists of metadata and layers, the extents of the launch spec. They are opened with their trees
//! before the process gives up its rights, so the thread that serves the disk needs no file. Of a packed layer
//! the packed form, its cache file and its tree are open; the thread fills the cache file. Each read is
//! verified: the guest gets the bytes that were stored or an I/O error, and never others.

use std::io;
use std::iter::successors;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use image_store::layout::Layout;
use image_store::{ArtifactError, ArtifactFile, DiskExtent, Report, unit_locks};
use msb_runtime::{IMAGE_SERIAL, LaunchSpec};
use range_disk::{PushError, RangeDisk};
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
    Open(#[from] ArtifactError),
    /// An extent does not lie in its file.
    #[error("an extent of the image's disk does not lie in its file")]
    Extent(#[from] PushError),
}

/// The content of the disk.
pub(crate) type Extents = RangeDisk<ArtifactFile>;

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
    let layout = Layout::new(&launch_spec.home);
    let extents = open_extents(&launch_spec.image_extents, &layout)?;
    Ok(Some(ImageDisk { extents }))
}

fn open_extents(extents: &[DiskExtent], layout: &Layout) -> Result<Extents, ImageDiskError> {
    let locks = unit_locks(layout);
    let mut disk = Extents::new();
    for extent in extents {
        let file = extent.open(locks.as_ref())?.with_log(log_report);
        disk.push(file, extent.offset_bytes, extent.length_bytes)?;
    }
    Ok(disk)
}

/// Logs an event of an extent. For a block that could not be verified, the guest gets an I/O error.
fn log_report(report: Report<'_>) {
    let causes = successors(report.event.source(), |&cause| cause.source());
    let causes: String = causes.map(|cause| format!(": {cause}")).collect();
    let remedy = if report.is_failed_read {
        format!("; {REPAIR}")
    } else {
        String::new()
    };
    log_line(&format!("{}{causes}{remedy}", report.event));
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
