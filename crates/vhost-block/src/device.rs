use std::io;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use served_disk::Disk;
use vhost_device::{Answer, Description, Device, Request, ServeError};

use crate::buffers::RequestBuffers;
use crate::config::{self, SERIAL_MAX_BYTES};
use crate::header::{Header, Kind};
use crate::range::{DISCARD_MAX_SECTORS, DiskRange, NamedRange, SECTOR_BYTES, ZERO_MAX_SECTORS};
use crate::status::{OK, Refusal};
use crate::transfer::Transfer;

/// The facts about a disk that its bytes do not say.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The serial number, by which the guest finds the disk: at most [`SERIAL_MAX_BYTES`] bytes.
    pub serial: String,
    /// True if the guest may not change the disk.
    pub is_read_only: bool,
}

/// A disk as a virtio-blk device.
pub struct BlockDevice<D> {
    disk: Arc<Mutex<D>>,
    sectors: u64,
    serial: [u8; SERIAL_MAX_BYTES],
    is_read_only: bool,
    /// Used by one request at a time: the device has one queue.
    transfer: Mutex<Transfer>,
    give_up: Box<dyn Fn(&io::Error) + Send + Sync>,
}

impl<D> std::fmt::Debug for BlockDevice<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockDevice")
            .field("sectors", &self.sectors)
            .field("is_read_only", &self.is_read_only)
            .finish_non_exhaustive()
    }
}

impl<D: Disk + Send + 'static> BlockDevice<D> {
    /// Returns the device of a disk. Its lock is held for the time of a request.
    ///
    /// `give_up` is called if the device takes no further requests while the VMM goes on, with the reason. The guest
    /// waits indefinitely then: the machine has to end.
    pub fn new(
        disk: Arc<Mutex<D>>,
        identity: &Identity,
        give_up: impl Fn(&io::Error) + Send + Sync + 'static,
    ) -> Self {
        let size_bytes = lock(&disk).size_bytes();
        Self {
            disk,
            sectors: size_bytes / SECTOR_BYTES,
            serial: config::serial(&identity.serial),
            is_read_only: identity.is_read_only,
            transfer: Mutex::new(Transfer::new()),
            give_up: Box::new(give_up),
        }
    }

    /// Returns the device with its queue.
    pub fn with_queue(self) -> Device<Self> {
        let description = Description {
            queues: 1,
            features: config::features(self.is_read_only),
            config: config::space(self.sectors),
        };
        Device::new(self, description)
    }

    /// Accepts one connection of a VMM and serves its guest until it closes.
    ///
    /// # Errors
    /// If the VMM violates the vhost-user protocol.
    pub fn serve(self, listener: UnixListener) -> Result<(), ServeError> {
        self.with_queue().serve("disk connection", listener)
    }

    /// Carries a request out.
    fn carry_out(&self, buffers: &mut RequestBuffers<'_>) -> Result<(), Refusal> {
        let header = Header::read(&mut buffers.input)?;
        let is_change = matches!(header.kind, Kind::Write | Kind::Discard | Kind::WriteZeroes);
        if is_change && self.is_read_only {
            return Err(Refusal::Failed);
        }
        // A thread that was aborted may have left the disk half changed.
        let mut disk = self.disk.lock().map_err(|_| Refusal::Failed)?;
        match header.kind {
            Kind::Read => {
                let range = self.data(header, buffers.output.available_bytes())?;
                lock(&self.transfer).read(&mut *disk, range, buffers)
            }
            Kind::Write => {
                let range = self.data(header, buffers.input.available_bytes())?;
                lock(&self.transfer).write(&mut *disk, range, buffers)
            }
            Kind::Flush => Ok(disk.flush()?),
            Kind::Serial => self.give_serial(buffers),
            Kind::Discard => {
                let named = self.named(buffers, DISCARD_MAX_SECTORS)?;
                if named.may_unmap {
                    // The flag belongs to requests for zeros.
                    return Err(Refusal::Unsupported);
                }
                let range = named.range;
                Ok(disk.discard(range.offset_bytes, range.length_bytes)?)
            }
            Kind::WriteZeroes => {
                let NamedRange { range, may_unmap } = self.named(buffers, ZERO_MAX_SECTORS)?;
                if may_unmap {
                    return Ok(disk.zero(range.offset_bytes, range.length_bytes)?);
                }
                lock(&self.transfer).write_zeros(&mut *disk, range)
            }
            Kind::Unknown => Err(Refusal::Unsupported),
        }
    }

    /// Returns the range of a read or a write with `data_bytes`.
    fn data(&self, header: Header, data_bytes: usize) -> Result<DiskRange, Refusal> {
        let length_bytes = u64::try_from(data_bytes).map_err(|_| Refusal::Failed)?;
        DiskRange::checked(header.sector, length_bytes, self.sectors)
    }

    fn named(
        &self,
        buffers: &mut RequestBuffers<'_>,
        max_sectors: u32,
    ) -> Result<NamedRange, Refusal> {
        let available = buffers.input.available_bytes();
        NamedRange::read(&mut buffers.input, available, max_sectors, self.sectors)
    }

    /// Gives the guest as much of the serial number as it has room for.
    fn give_serial(&self, buffers: &mut RequestBuffers<'_>) -> Result<(), Refusal> {
        let length = buffers.output.available_bytes();
        let serial = self.serial.get(..length).unwrap_or(&self.serial);
        Ok(buffers.give(serial)?)
    }
}

impl<D: Disk + Send + 'static> Answer for BlockDevice<D> {
    fn answer(&self, request: Request) -> io::Result<()> {
        let length = match RequestBuffers::from_chain(request.buffers()) {
            Some(mut buffers) => {
                let outcome = self.carry_out(&mut buffers);
                buffers.end(outcome.map_or_else(Refusal::status, |()| OK))
            }
            None => 0,
        };
        request.end(length)
    }

    fn give_up(&self, reason: &io::Error) {
        (self.give_up)(reason);
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
