use std::path::Path;

use fuse_backend_rs::abi::fuse_abi::{FsOptions, InHeader, InitIn, InitIn2, Opcode, OutHeader};
use fuse_backend_rs::api::server::Server;
use vhost_user_backend::{VhostUserBackend as _, VringMutex, VringT as _};
use vm_memory::{
    ByteValued, Bytes as _, GuestAddress, GuestAddressSpace as _, GuestMemoryAtomic,
    GuestMemoryMmap,
};
use vmm_sys_util::epoll::EventSet;

use crate::device::{Answer, Device};
use crate::opened::Opened;
use crate::{Entry, Kind, Permissions, Share};

type Memory = GuestMemoryAtomic<GuestMemoryMmap<()>>;

pub(super) const MEMORY_BYTES: usize = 1 << 20;
pub(super) const QUEUE_SIZE: u16 = 16;
const DESCRIPTORS: u64 = 0x1000;
const AVAILABLE: u64 = 0x2000;
const USED: u64 = 0x3000;
const REQUEST: u64 = 0x10000;
const REPLY: u64 = 0x40000;
const REPLY_BYTES: u32 = 0x40000;
/// `VIRTQ_DESC_F_NEXT` and `VIRTQ_DESC_F_WRITE` (uapi/linux/virtio_ring.h).
const NEXT: u16 = 1;
const WRITE: u16 = 2;

/// A driver of the device that can write anything into its ring.
pub(super) struct Guest {
    device: Device,
    pub(super) ring: VringMutex<Memory>,
    memory: Memory,
    sent: u16,
    pub(super) user: u32,
}

impl Guest {
    /// Returns a guest that has not negotiated its options yet.
    pub(super) fn new(directory: &Path, is_read_only: bool) -> Self {
        let entry = Entry {
            name: "0",
            path: directory,
            kind: Kind::Directory,
        };
        let (_, files) = Opened::open(&entry, is_read_only).unwrap();
        Self::asking(Box::new(Server::new(files)))
    }

    /// One that sees all entries, and knows all options there are.
    pub(super) fn with_entries(entries: &[Entry<'_>], is_read_only: bool) -> Self {
        let share = Share::open(entries, is_read_only).unwrap();
        let mut guest = Self::asking(share.answer);
        guest.init();
        guest
    }

    /// One whose entries have permissions.
    pub(super) fn with_permissions(
        entries: &[Entry<'_>],
        permissions: impl FnMut(usize) -> Option<Box<dyn Permissions>>,
    ) -> Self {
        let share = Share::open_with(entries, false, permissions).unwrap();
        let mut guest = Self::asking(share.answer);
        guest.init();
        guest
    }

    fn asking(answer: Box<dyn Answer>) -> Self {
        let ranges = [(GuestAddress(0), MEMORY_BYTES)];
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::from_ranges(&ranges).unwrap());
        let device = Device::new(answer);
        device.update_memory(memory.clone()).unwrap();
        let ring = VringMutex::new(memory.clone(), QUEUE_SIZE).unwrap();
        ring.set_queue_info(DESCRIPTORS, AVAILABLE, USED).unwrap();
        ring.set_queue_ready(true);
        Self {
            device,
            ring,
            memory,
            sent: 0,
            user: 0,
        }
    }

    /// Returns a guest that supports all options.
    pub(super) fn initialised(directory: &Path, is_read_only: bool) -> Self {
        let mut guest = Self::new(directory, is_read_only);
        guest.init();
        guest
    }

    /// Negotiates with every option offered. Returns the options that the device wants.
    pub(super) fn init(&mut self) -> FsOptions {
        let flags = FsOptions::all().bits();
        let half = |shift: u32| u32::try_from(flags >> shift & u64::from(u32::MAX)).unwrap();
        let input = InitIn {
            major: 7,
            minor: 38,
            max_readahead: 1 << 17,
            flags: half(0),
        };
        let more = InitIn2 {
            flags2: half(32),
            ..InitIn2::default()
        };
        let body = [input.as_slice(), more.as_slice()].concat();
        let reply = self.call(Opcode::Init, 0, &body).unwrap();
        let word = |at: usize| u32::from_le_bytes(reply[at..at + 4].try_into().unwrap());
        // The offsets of `flags` and `flags2` in `fuse_init_out`.
        FsOptions::from_bits_truncate(u64::from(word(12)) | u64::from(word(32)) << 32)
    }

    /// Sends one request. Returns the answer's body, or its error.
    pub(super) fn call(&mut self, call: Opcode, node: u64, body: &[u8]) -> Result<Vec<u8>, i32> {
        self.send(call, node, body);
        let memory = self.memory.memory();
        let header: OutHeader = memory.read_obj(GuestAddress(REPLY)).unwrap();
        assert_eq!(header.unique, u64::from(self.sent), "no answer");
        if header.error != 0 {
            return Err(-header.error);
        }
        let length = usize::try_from(header.len).unwrap() - size_of::<OutHeader>();
        let mut reply = vec![0; length];
        let start = REPLY + size_of::<OutHeader>() as u64;
        memory.read_slice(&mut reply, GuestAddress(start)).unwrap();
        Ok(reply)
    }

    /// Sends a request that gets no answer.
    pub(super) fn send(&mut self, call: Opcode, node: u64, body: &[u8]) {
        let header = InHeader {
            len: u32::try_from(size_of::<InHeader>() + body.len()).unwrap(),
            opcode: call as u32,
            unique: u64::from(self.sent.wrapping_add(1)),
            nodeid: node,
            uid: self.user,
            gid: self.user,
            ..InHeader::default()
        };
        let request = [header.as_slice(), body].concat();
        let memory = self.memory.memory();
        memory.write_slice(&request, GuestAddress(REQUEST)).unwrap();
        let length = u32::try_from(request.len()).unwrap();
        let chain = [
            descriptor(REQUEST, length, NEXT, 1),
            descriptor(REPLY, REPLY_BYTES, WRITE, 0),
        ];
        memory
            .write_slice(&chain.concat(), GuestAddress(DESCRIPTORS))
            .unwrap();
        let place = AVAILABLE + 4 + 2 * u64::from(self.sent % QUEUE_SIZE);
        memory.write_obj(0u16, GuestAddress(place)).unwrap();
        self.sent = self.sent.wrapping_add(1);
        self.offer(self.sent);
        self.kick().unwrap();
    }

    /// Sets the number of requests made available so far.
    pub(super) fn offer(&self, count: u16) {
        self.offer_at(AVAILABLE + 2, count);
    }

    /// Sets that number in a ring at another address.
    pub(super) fn offer_at(&self, address: u64, count: u16) {
        let memory = self.memory.memory();
        let index = GuestAddress(address);
        memory.write_obj(count.to_le(), index).unwrap();
    }

    /// Notifies the device of new requests.
    pub(super) fn kick(&self) -> std::io::Result<()> {
        let rings = std::slice::from_ref(&self.ring);
        self.device.handle_event(0, EventSet::IN, rings, 0)
    }
}

/// Encodes a `struct virtq_desc` (uapi/linux/virtio_ring.h).
fn descriptor(address: u64, length: u32, flags: u16, next: u16) -> Vec<u8> {
    [
        &address.to_le_bytes()[..],
        &length.to_le_bytes(),
        &flags.to_le_bytes(),
        &next.to_le_bytes(),
    ]
    .concat()
}

/// The fixed part of a request without one.
pub(super) const NOTHING: [u8; 0] = [];

/// Returns a request's fixed part, followed by the names.
pub(super) fn body(input: impl ByteValued, names: &[&str]) -> Vec<u8> {
    let mut body = input.as_slice().to_vec();
    for name in names {
        body.extend_from_slice(name.as_bytes());
        body.push(0);
    }
    body
}

/// Returns the node of the entry that an answer begins with.
pub(super) fn node(answer: &[u8]) -> u64 {
    u64::from_le_bytes(answer[..8].try_into().unwrap())
}
