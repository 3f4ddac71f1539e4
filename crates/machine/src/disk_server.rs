//! The disks that the VMM process serves to its VMM.
//!
//! A disk of generations is opened before the process gives up its rights. QEMU has a connection to a
//! thread that serves the disk over NBD; libkrun's threads call the disk. One more thread cuts it, and
//! flushes it for libkrun. Both threads are confined to the disk's directory, and the VMM to none of it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use generations::OpenError;
use msb_jail::Jail;
use msb_runtime::{SandboxPaths, UpperPool};
use msb_vmm::{DiskFormat, Machine};

use crate::called_disk::CalledDisk;
use crate::confinement;
use crate::disk_cut::{DiskOrders, SharedDisk};
use crate::log::log_line;

/// The number of bytes of discarded blocks that are given back when the machine has ended: all.
const RECLAIM_BYTES: u64 = u64::MAX;

/// A disk that the VMM process is to serve cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DiskServerError {
    /// The directory of the disk cannot be read.
    #[error("cannot find the disk {}", .path.display())]
    Find {
        /// The directory.
        path: PathBuf,
        /// The error of the host.
        #[source]
        source: io::Error,
    },
    /// The disk is open in another process, or damaged.
    #[error("cannot open the disk {}", .path.display())]
    Open {
        /// The directory of the disk.
        path: PathBuf,
        /// The error of the disk.
        #[source]
        source: OpenError,
    },
}

/// A disk that is open and not served yet.
pub(crate) struct OpenDisk {
    directory: PathBuf,
    disk: SharedDisk,
}

/// A disk and the server's end of its connection.
pub(crate) struct DiskServer {
    disk: OpenDisk,
    stream: UnixStream,
}

/// Opens the served disks of a machine. Only the upper disk of a sandbox can be one.
pub(crate) fn open(
    machine: &Machine,
    files: &SandboxPaths,
) -> Result<Vec<OpenDisk>, DiskServerError> {
    let served = machine.disks.iter();
    let served = served.filter(|disk| disk.format == DiskFormat::Served);
    served
        .map(|disk| {
            let failed = |source| DiskServerError::Find {
                path: disk.path.clone(),
                source,
            };
            let pool = UpperPool::find(files).map_err(failed)?;
            let pool = pool.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
            let opened = pool.open().map_err(|source| DiskServerError::Open {
                path: disk.path.clone(),
                source,
            })?;
            Ok(OpenDisk {
                directory: files.generations(),
                disk: SharedDisk::new(opened),
            })
        })
        .collect()
}

impl OpenDisk {
    /// Returns the size of the disk, in bytes: no file of it is longer.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.disk.size_bytes()
    }

    /// Returns the disk for a thread that cuts it, and the jail of that thread.
    pub(crate) fn shared(&self) -> (SharedDisk, Jail) {
        (self.disk.clone(), self.jail())
    }

    fn jail(&self) -> Jail {
        confinement::disk_jail(&self.directory)
    }

    /// Returns the disk for a VMM that calls it. The thread that cuts the disk has to take the orders.
    pub(crate) fn called(self, orders: DiskOrders) -> CalledDisk {
        CalledDisk::new(self.disk, orders)
    }

    /// Connects the disk. Returns the VMM's end.
    pub(crate) fn connect(self) -> io::Result<(OwnedFd, DiskServer)> {
        let (client, stream) = UnixStream::pair()?;
        Ok((client.into(), DiskServer { disk: self, stream }))
    }
}

impl DiskServer {
    /// Returns the jail of the thread that serves the disk.
    pub(crate) fn jail(&self) -> Jail {
        self.disk.jail()
    }

    /// Serves the disk until the VMM ends, and gives back the space that the guest discarded.
    pub(crate) fn serve(self) {
        let mut disk = self.disk.disk;
        if let Err(error) = nbd_server::serve(&self.stream, &self.stream, &mut disk) {
            log_line(&format!("the disk server has stopped: {error}"));
        }
        // Blocks that stay allocated cost space and nothing else.
        let reclaimed = disk
            .lock()
            .and_then(|mut disk| disk.reclaim(RECLAIM_BYTES).map_err(io::Error::other));
        if let Err(error) = reclaimed {
            log_line(&format!("cannot free discarded blocks: {error}"));
        }
    }
}
