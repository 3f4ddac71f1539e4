use std::path::Path;

use fuse_backend_rs::abi::fuse_abi::{FsOptions, InHeader, InitIn, InitIn2, Opcode, OutHeader};
use vhost_user_backend::{VhostUserBackend as _, VringMutex, VringT as _};
use vm_memory::{
    ByteValued, Bytes as _, GuestAddress, GuestAddressSpace as _, GuestMemoryAtomic,
    GuestMemoryMmap,
};
use vmm_sys_util::epoll::EventSet;

use crate::Share;
use crate::device::Device;

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

/// A driver of the device that writes into its ring whatever it likes.
pub(super) struct Guest {
    device: Device,
    pub(super) ring: VringMutex<Memory>,
    memory: Memory,
    sent: u16,
    pub(super) user: u32,
}

impl Guest {
    /// One that has not yet said which options it knows.
    pub(super) fn new(directory: &Path, is_read_only: bool) -> Self {
        let share = Share::open(directory, is_read_only).unwrap();
        let ranges = [(GuestAddress(0), MEMORY_BYTES)];
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::from_ranges(&ranges).unwrap());
        let device = Device::new(share.answer);
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

    /// One that knows all options there are.
    pub(super) fn of(directory: &Path, is_read_only: bool) -> Self {
        let mut guest = Self::new(directory, is_read_only);
        guest.init();
        guest
    }

    /// What the device wants of all options.
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
        // Where `fuse_init_out` has `flags` and `flags2`.
        FsOptions::from_bits_truncate(u64::from(word(12)) | u64::from(word(32)) << 32)
    }

    /// Sends one request; the answer's body, or its error.
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

    /// The same for what is not answered.
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

    /// Says how many requests were ever made available.
    pub(super) fn offer(&self, count: u16) {
        self.offer_at(AVAILABLE + 2, count);
    }

    /// The same in a ring elsewhere.
    pub(super) fn offer_at(&self, address: u64, count: u16) {
        let memory = self.memory.memory();
        let index = GuestAddress(address);
        memory.write_obj(count.to_le(), index).unwrap();
    }

    /// Tells the device to look.
    pub(super) fn kick(&self) -> std::io::Result<()> {
        let rings = std::slice::from_ref(&self.ring);
        self.device.handle_event(0, EventSet::IN, rings, 0)
    }
}

/// `struct virtq_desc`.
fn descriptor(address: u64, length: u32, flags: u16, next: u16) -> Vec<u8> {
    [
        &address.to_le_bytes()[..],
        &length.to_le_bytes(),
        &flags.to_le_bytes(),
        &next.to_le_bytes(),
    ]
    .concat()
}

/// The fixed part of a request that has none.
pub(super) const NOTHING: [u8; 0] = [];

/// A request's fixed part and the names after it.
pub(super) fn body(input: impl ByteValued, names: &[&str]) -> Vec<u8> {
    let mut body = input.as_slice().to_vec();
    for name in names {
        body.extend_from_slice(name.as_bytes());
        body.push(0);
    }
    body
}

/// The node of the entry that an answer begins with.
pub(super) fn node(answer: &[u8]) -> u64 {
    u64::from_le_bytes(answer[..8].try_into().unwrap())
}
