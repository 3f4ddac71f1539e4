//! The disks that the VMM process serves to its VMM.
//!
//! The disk is opened before the process gives up its rights. QEMU leaves the requests of its
//! guest to a thread of this process (vhost-user), which maps the guest's memory; libkrun's threads call the
//! disk. One more thread cuts it, and flushes it for libkrun. All of them are confined to the disk's
//! directory, and the VMM to none of it.

use std::fmt::Display;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use generations::OpenError;
use msb_jail::Jail;
use msb_runtime::{SandboxPaths, UPPER_SERIAL, UpperPool};
use msb_vmm::{DiskAccess, DiskFormat, Machine};
use vhost_block::{BlockDevice, Identity};

use crate::called_disk::CalledDisk;
use crate::confinement;
use crate::disk_cut::{DiskOrders, SharedDisk};
use crate::log::log_line;
use crate::one_connection::one_connection;

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
    identity: Identity,
    disk: SharedDisk,
}

/// A disk and the socket that accepts the connection of its VMM.
pub(crate) struct DiskServer {
    disk: OpenDisk,
    listener: UnixListener,
}

/// Opens the writable disk of a machine, if it is served.
pub(crate) fn open(
    machine: &Machine,
    files: &SandboxPaths,
) -> Result<Vec<OpenDisk>, DiskServerError> {
    let served = machine.disks.iter();
    let served =
        served.filter(|disk| disk.format == DiskFormat::Served && disk.serial == UPPER_SERIAL);
    served
        .map(|disk| {
            let failed = |source| DiskServerError::Find {
                path: disk.path.clone(),
                source,
            };
            let pool = UpperPool::existing(files).map_err(failed)?;
            let opened = pool.open().map_err(|source| DiskServerError::Open {
                path: disk.path.clone(),
                source,
            })?;
            Ok(OpenDisk {
                directory: files.generations(),
                identity: Identity {
                    serial: disk.serial.clone(),
                    is_read_only: disk.access == DiskAccess::ReadOnly,
                },
                disk: SharedDisk::new(opened),
            })
        })
        .collect()
}

impl OpenDisk {
    /// Returns the size of the disk in whole blocks, in bytes: no file of it is longer.
    pub(crate) fn length_bytes(&self) -> u64 {
        self.disk
            .size_bytes()
            .next_multiple_of(generations::BLOCK_BYTES)
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

    /// Connects the disk by a socket that has this path for a moment. Returns the VMM's end.
    pub(crate) fn connect(self, path: &Path) -> io::Result<(OwnedFd, DiskServer)> {
        let (listener, connected) = one_connection(path)?;
        let server = DiskServer {
            disk: self,
            listener,
        };
        Ok((connected, server))
    }
}

impl DiskServer {
    /// Returns the jail of the thread that serves the disk.
    pub(crate) fn jail(&self) -> Jail {
        self.disk.jail()
    }

    /// Serves the disk until the VMM ends, and gives back the space that the guest discarded. Ends the process if the
    /// disk cannot be served while the VMM goes on: the guest would wait for its requests indefinitely.
    pub(crate) fn serve(self) {
        let OpenDisk { identity, disk, .. } = self.disk;
        let device = BlockDevice::new(disk.guarded(), &identity, |reason| {
            end_machine("the writable disk", reason);
        });
        if let Err(error) = device.serve(self.listener) {
            end_machine("the writable disk", &error);
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

/// Ends the process, and with it the machine.
#[expect(
    clippy::exit,
    reason = "the machine is to end, and its own thread waits for the VMM"
)]
pub(crate) fn end_machine(disk: &str, reason: &dyn Display) {
    log_line(&format!("cannot continue to serve {disk}: {reason}"));
    std::process::exit(1);
}

#[cfg(test)]
mod tests;
