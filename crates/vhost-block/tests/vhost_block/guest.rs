//! A guest whose driver calls the device itself.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use served_disk::Disk;
use vhost_block::{BlockDevice, Identity};
use vhost_device::{Device, Memory};
use vhost_user_backend::{VhostUserBackend as _, VringMutex, VringT as _};
use vm_memory::{
    Bytes as _, GuestAddress, GuestAddressSpace as _, GuestMemoryAtomic, GuestMemoryMmap,
};
use vmm_sys_util::epoll::EventSet;

use crate::ring::{
    AVAILABLE, Buffer, DATA, DESCRIPTORS, HEADER, INDIRECT, INDIRECT_FLAG, MEMORY_BYTES,
    QUEUE_SIZE, STATUS, USED, offer, readable, used_count, used_length, writable, write_chain,
    write_descriptor, write_header,
};

pub(crate) const READ: u32 = 0;
pub(crate) const WRITE: u32 = 1;
pub(crate) const FLUSH: u32 = 4;
pub(crate) const SERIAL: u32 = 8;
pub(crate) const DISCARD: u32 = 11;
pub(crate) const WRITE_ZEROES: u32 = 13;
/// The flag of zeros that may free the space of their range.
pub(crate) const UNMAP: u32 = 1;

pub(crate) const OK: u8 = 0;
pub(crate) const FAILED: u8 = 1;
pub(crate) const UNSUPPORTED: u8 = 2;
/// A status that no device writes.
pub(crate) const NO_STATUS: u8 = 0xff;

/// A driver of the device.
pub(crate) struct Guest<D> {
    pub(crate) device: Device<BlockDevice<D>>,
    pub(crate) ring: VringMutex<Memory>,
    memory: Memory,
    pub(crate) sent: u16,
    disk: Arc<Mutex<D>>,
    /// The reasons for which the device has given up.
    pub(crate) reasons: Arc<Mutex<Vec<String>>>,
}

impl<D: Disk + Send + 'static> Guest<D> {
    pub(crate) fn new(disk: D) -> Self {
        Self::with_access(disk, false)
    }

    pub(crate) fn with_access(disk: D, is_read_only: bool) -> Self {
        let disk = Arc::new(Mutex::new(disk));
        let reasons = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&reasons);
        let identity = Identity {
            serial: "a serial".to_owned(),
            is_read_only,
        };
        let device = BlockDevice::new(Arc::clone(&disk), &identity, move |reason| {
            kept.lock().unwrap().push(reason.to_string());
        });
        let device = device.with_queue();
        let ranges = [(GuestAddress(0), MEMORY_BYTES)];
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::from_ranges(&ranges).unwrap());
        device.update_memory(memory.clone()).unwrap();
        let ring = VringMutex::new(memory.clone(), QUEUE_SIZE).unwrap();
        ring.set_queue_info(DESCRIPTORS, AVAILABLE, USED).unwrap();
        ring.set_queue_ready(true);
        Self {
            device,
            ring,
            memory,
            sent: 0,
            disk,
            reasons,
        }
    }

    pub(crate) fn disk(&self) -> MutexGuard<'_, D> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `use_memory` with the guest's memory.
    pub(crate) fn with_memory<T>(&self, use_memory: impl FnOnce(&GuestMemoryMmap) -> T) -> T {
        use_memory(&self.memory.memory())
    }

    /// Sends a request with this header and these buffers for its data. Returns its status.
    pub(crate) fn send(&mut self, kind: u32, sector: u64, data: &[Buffer]) -> u8 {
        let chain = [&[readable(HEADER, 16)][..], data, &[writable(STATUS, 1)]].concat();
        self.with_memory(|memory| {
            write_header(memory, kind, sector);
            write_chain(memory, DESCRIPTORS, &chain);
        });
        self.run().unwrap();
        self.status()
    }

    /// Sends the same by an indirect table.
    pub(crate) fn send_indirect(&mut self, kind: u32, sector: u64, data: &[Buffer]) -> u8 {
        let chain = [&[readable(HEADER, 16)][..], data, &[writable(STATUS, 1)]].concat();
        let table = (INDIRECT, 16 * u32::try_from(chain.len()).unwrap());
        self.with_memory(|memory| {
            write_header(memory, kind, sector);
            write_chain(memory, INDIRECT, &chain);
            write_descriptor(memory, (DESCRIPTORS, 0), table, INDIRECT_FLAG, 0);
        });
        self.run().unwrap();
        self.status()
    }

    /// Writes bytes from a sector on. Returns the status.
    pub(crate) fn write(&mut self, sector: u64, bytes: &[u8]) -> u8 {
        self.put(bytes);
        let data = readable(DATA, u32::try_from(bytes.len()).unwrap());
        self.send(WRITE, sector, &[data])
    }

    /// Reads bytes from a sector on. Returns them with the status.
    pub(crate) fn read(&mut self, sector: u64, length: usize) -> (u8, Vec<u8>) {
        let data = writable(DATA, u32::try_from(length).unwrap());
        let status = self.send(READ, sector, &[data]);
        (status, self.data(length))
    }

    /// Sends a discard or a request for zeros. Returns the status.
    pub(crate) fn send_range(&mut self, kind: u32, sector: u64, sectors: u32, flags: u32) -> u8 {
        let range = [
            &sector.to_le_bytes()[..],
            &sectors.to_le_bytes(),
            &flags.to_le_bytes(),
        ]
        .concat();
        self.put(&range);
        self.send(kind, 0, &[readable(DATA, 16)])
    }

    /// Puts bytes where requests have their data.
    pub(crate) fn put(&self, bytes: &[u8]) {
        self.with_memory(|memory| memory.write_slice(bytes, GuestAddress(DATA)).unwrap());
    }

    /// Returns the bytes where requests have their data.
    pub(crate) fn data(&self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.with_memory(|memory| memory.read_slice(&mut bytes, GuestAddress(DATA)).unwrap());
        bytes
    }

    /// Makes the request available that begins at the first descriptor, and waits until it is used. Returns the length
    /// of the answer.
    pub(crate) fn run(&mut self) -> io::Result<u32> {
        self.with_memory(|memory| {
            memory.write_obj(NO_STATUS, GuestAddress(STATUS)).unwrap();
            offer(memory, self.sent);
        });
        self.sent = self.sent.wrapping_add(1);
        self.kick()?;
        Ok(self.with_memory(|memory| {
            assert_eq!(used_count(memory), self.sent, "the request is not used");
            used_length(memory)
        }))
    }

    fn status(&self) -> u8 {
        self.with_memory(|memory| memory.read_obj(GuestAddress(STATUS)).unwrap())
    }

    /// Notifies the device of new requests.
    pub(crate) fn kick(&self) -> io::Result<()> {
        let rings = std::slice::from_ref(&self.ring);
        self.device.handle_event(0, EventSet::IN, rings, 0)
    }
}
