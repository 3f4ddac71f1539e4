use std::path::Path;
use std::sync::Arc;

use fuse_backend_rs::abi::fuse_abi::{FsOptions, InHeader, InitIn, InitIn2, Opcode, OutHeader};
use fuse_backend_rs::api::server::Server;
use vhost_user_backend::{VhostUserBackend as _, VringMutex, VringT as _};
use vm_memory::{
    ByteValued, Bytes as _, GuestAddress, GuestAddressSpace as _, GuestMemoryAtomic,
    GuestMemoryMmap,
};
use vmm_sys_util::epoll::EventSet;

use crate::device::Device;
use crate::opened::Opened;
use crate::{Answers, Asker, Entry, Kind, Permissions, Share};

type Memory = GuestMemoryAtomic<GuestMemoryMmap<()>>;

pub(super) const MEMORY_BYTES: usize = 1 << 20;
pub(super) const QUEUE_SIZE: u16 = 256;
const DESCRIPTORS: u64 = 0x1000;
const AVAILABLE: u64 = 0x2000;
const USED: u64 = 0x3000;
const REQUEST: u64 = 0x10000;
const REPLY: u64 = 0x40000;
const REPLY_BYTES: u32 = 0x40000;
/// The buffers of requests whose answers are not waited for: for each slot, counted from 1, a request and then the
/// answer to it.
const SLOTS: u64 = 0x80000;
const SLOT_BYTES: u64 = 0x1000;
const SLOT_REPLY: u64 = 0x800;
/// `VIRTQ_DESC_F_NEXT` and `VIRTQ_DESC_F_WRITE` (uapi/linux/virtio_ring.h).
const NEXT: u16 = 1;
const WRITE: u16 = 2;

/// A driver of the device that can write anything into its ring.
pub(super) struct Guest {
    device: vhost_device::Device<Device>,
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
        Self::driving(Device::new(Box::new(Server::new(files)), Arc::default()))
    }

    /// One that sees all entries, and knows all options there are.
    pub(super) fn with_entries(entries: &[Entry<'_>], is_read_only: bool) -> Self {
        let share = Share::open(entries, is_read_only).unwrap();
        let mut guest = Self::driving(share.device);
        guest.init();
        guest
    }

    /// One whose entries have permissions.
    pub(super) fn with_permissions(
        entries: &[Entry<'_>],
        permissions: impl FnMut(usize) -> Option<Box<dyn Permissions>>,
    ) -> Self {
        let share = Share::open_with(entries, false, permissions, None).unwrap();
        let mut guest = Self::driving(share.device);
        guest.init();
        guest
    }

    /// One about whose accesses a user is asked, and the way to answer.
    pub(super) fn asking(
        entries: &[Entry<'_>],
        is_read_only: bool,
        permissions: impl FnMut(usize) -> Option<Box<dyn Permissions>>,
        asker: Box<dyn Asker>,
    ) -> (Self, Answers) {
        let share = Share::open_with(entries, is_read_only, permissions, Some(asker)).unwrap();
        let answers = share.answers();
        let mut guest = Self::driving(share.device);
        guest.init();
        (guest, answers)
    }

    fn driving(device: Device) -> Self {
        let ranges = [(GuestAddress(0), MEMORY_BYTES)];
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::from_ranges(&ranges).unwrap());
        let device = device.with_queues();
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
        let (unique, reply) = self.reply(REPLY);
        assert_eq!(unique, u64::from(self.sent), "no answer");
        reply
    }

    /// Sends a request that gets no answer.
    pub(super) fn send(&mut self, call: Opcode, node: u64, body: &[u8]) {
        self.begin(0, call, node, body);
    }

    /// Sends a request with buffers of its own, whose answer may come later. Each slot, from 1, takes one request.
    pub(super) fn begin(&mut self, slot: u16, call: Opcode, node: u64, body: &[u8]) {
        self.put(slot, call, node, body);
        self.kick().unwrap();
    }

    /// Returns the body of the answer to the request in a slot, or its error; `None` if the device has not used the
    /// slot's buffers yet.
    pub(super) fn ended(&self, slot: u16) -> Option<Result<Vec<u8>, i32>> {
        let memory = self.memory.memory();
        let used: u16 = memory.read_obj(GuestAddress(USED + 2)).unwrap();
        // The ring has room for all requests of a test, each with the head of its chain and a length.
        let is_used = (0..u64::from(used)).any(|index| {
            let head: u32 = memory.read_obj(GuestAddress(USED + 4 + 8 * index)).unwrap();
            head == u32::from(2 * slot)
        });
        is_used.then(|| {
            self.reply(SLOTS + SLOT_BYTES * u64::from(slot - 1) + SLOT_REPLY)
                .1
        })
    }

    /// Writes the number of another node into a request that waits in a slot.
    pub(super) fn redirect(&self, slot: u16, node: u64) {
        // The offset of `nodeid` in `fuse_in_header`.
        let place = SLOTS + SLOT_BYTES * u64::from(slot - 1) + 16;
        self.memory
            .memory()
            .write_obj(node, GuestAddress(place))
            .unwrap();
    }

    /// Returns the number of the request that the answer at an address is for, and its body, or its error.
    fn reply(&self, address: u64) -> (u64, Result<Vec<u8>, i32>) {
        let memory = self.memory.memory();
        let header: OutHeader = memory.read_obj(GuestAddress(address)).unwrap();
        if header.error != 0 {
            return (header.unique, Err(-header.error));
        }
        let length = usize::try_from(header.len).unwrap() - size_of::<OutHeader>();
        let mut reply = vec![0; length];
        let start = address + size_of::<OutHeader>() as u64;
        memory.read_slice(&mut reply, GuestAddress(start)).unwrap();
        (header.unique, Ok(reply))
    }

    /// Makes a request available, with the buffers of a slot; 0 is the one for answers that come at once.
    fn put(&mut self, slot: u16, call: Opcode, node: u64, body: &[u8]) {
        let (request_at, reply_at, reply_bytes) = match slot {
            0 => (REQUEST, REPLY, REPLY_BYTES),
            slot => {
                let start = SLOTS + SLOT_BYTES * u64::from(slot - 1);
                (start, start + SLOT_REPLY, 0x800)
            }
        };
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
        memory
            .write_slice(&request, GuestAddress(request_at))
            .unwrap();
        let length = u32::try_from(request.len()).unwrap();
        let head = 2 * slot;
        let chain = [
            descriptor(request_at, length, NEXT, head + 1),
            descriptor(reply_at, reply_bytes, WRITE, 0),
        ];
        let table = GuestAddress(DESCRIPTORS + 16 * u64::from(head));
        memory.write_slice(&chain.concat(), table).unwrap();
        let place = AVAILABLE + 4 + 2 * u64::from(self.sent % QUEUE_SIZE);
        memory.write_obj(head.to_le(), GuestAddress(place)).unwrap();
        self.sent = self.sent.wrapping_add(1);
        self.offer(self.sent);
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
