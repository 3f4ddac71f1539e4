//! The connection with a VMM, spoken as QEMU does.

use std::fs::File;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use vhost::vhost_user::message::{
    VhostUserConfigFlags, VhostUserHeaderFlag, VhostUserProtocolFeatures,
};
use vhost::vhost_user::{Frontend, VhostUserFrontend as _};
use vhost::{VhostBackend as _, VhostUserMemoryRegionInfo, VringConfigData};
use vhost_block::{BlockDevice, Identity};
use vhost_device::ServeError;
use vm_memory::{Bytes as _, FileOffset, GuestAddress, GuestMemory as _, GuestMemoryMmap};
use vmm_sys_util::eventfd::EventFd;

use crate::guest::{NO_STATUS, OK, READ};
use crate::in_time;
use crate::memory_disk::MemoryDisk;
use crate::ring::{
    AVAILABLE, DATA, DESCRIPTORS, HEADER, MEMORY_BYTES, QUEUE_SIZE, STATUS, USED, offer, readable,
    used_count, writable, write_chain, write_header,
};

/// `VIRTIO_RING_F_EVENT_IDX`: without it, the device notifies after each request.
const EVENT_INDEX: u64 = 1 << 29;

/// A VMM that is connected with the server of a disk of 1 MiB, whose bytes are 7.
struct Vmm {
    frontend: Frontend,
    memory: GuestMemoryMmap,
    kick: EventFd,
    call: EventFd,
    sent: u16,
    serving: JoinHandle<Result<(), ServeError>>,
}

impl Vmm {
    fn connect() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("disk.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let stream = UnixStream::connect(&path).unwrap();
        let mut disk = MemoryDisk::new(1 << 20);
        disk.bytes.fill(7);
        let identity = Identity {
            serial: "disk".to_owned(),
            is_read_only: false,
        };
        let device = BlockDevice::new(Arc::new(Mutex::new(disk)), &identity, give_up);
        let serving = std::thread::spawn(move || device.serve(listener));
        let mut frontend = Frontend::from_stream(stream, 1);
        frontend.set_owner().unwrap();
        let features = frontend.get_features().unwrap();
        let protocol = frontend.get_protocol_features().unwrap();
        assert!(protocol.contains(VhostUserProtocolFeatures::CONFIG));
        frontend.set_protocol_features(protocol).unwrap();
        frontend.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
        frontend.set_features(features & !EVENT_INDEX).unwrap();
        let memory = shared_memory();
        let region = memory.iter().next().unwrap();
        let region = VhostUserMemoryRegionInfo::from_guest_region(region).unwrap();
        frontend.set_mem_table(&[region]).unwrap();
        Self {
            frontend,
            memory,
            kick: EventFd::new(0).unwrap(),
            call: EventFd::new(0).unwrap(),
            sent: 0,
            serving,
        }
    }

    /// Starts the queue from the request on that was made available last.
    fn start(&mut self) {
        let region = self.memory.iter().next().unwrap();
        let region = VhostUserMemoryRegionInfo::from_guest_region(region).unwrap();
        let start = region.userspace_addr;
        let addresses = VringConfigData {
            queue_max_size: QUEUE_SIZE,
            queue_size: QUEUE_SIZE,
            flags: 0,
            desc_table_addr: start + DESCRIPTORS,
            used_ring_addr: start + USED,
            avail_ring_addr: start + AVAILABLE,
            log_addr: None,
        };
        self.frontend.set_vring_num(0, QUEUE_SIZE).unwrap();
        self.frontend.set_vring_base(0, self.sent).unwrap();
        self.frontend.set_vring_addr(0, &addresses).unwrap();
        self.frontend.set_vring_call(0, &self.call).unwrap();
        self.frontend.set_vring_kick(0, &self.kick).unwrap();
        self.frontend.set_vring_enable(0, true).unwrap();
    }

    /// Stops the queue. Returns the number of requests that the device has taken.
    fn stop(&mut self) -> u32 {
        self.frontend.set_vring_enable(0, false).unwrap();
        self.frontend.get_vring_base(0).unwrap()
    }

    /// Reads a sector through the queue.
    fn read_sector(&mut self) -> [u8; 512] {
        let chain = [
            readable(HEADER, 16),
            writable(DATA, 512),
            writable(STATUS, 1),
        ];
        self.memory
            .write_slice(&[0; 512], GuestAddress(DATA))
            .unwrap();
        let status = GuestAddress(STATUS);
        self.memory.write_obj(NO_STATUS, status).unwrap();
        write_header(&self.memory, READ, 3);
        write_chain(&self.memory, DESCRIPTORS, &chain);
        offer(&self.memory, self.sent);
        self.sent += 1;
        self.kick.write(1).unwrap();
        self.call.read().unwrap();
        assert_eq!(used_count(&self.memory), self.sent);
        assert_eq!(self.memory.read_obj::<u8>(status).unwrap(), OK);
        let mut bytes = [0; 512];
        self.memory
            .read_slice(&mut bytes, GuestAddress(DATA))
            .unwrap();
        bytes
    }
}

/// Fails: no test of this module has an invalid queue.
fn give_up(reason: &std::io::Error) {
    panic!("the device has given up: {reason}");
}

/// Returns memory that another process could map.
fn shared_memory() -> GuestMemoryMmap {
    let memory = memfd_create("guest", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&memory, MEMORY_BYTES as u64).unwrap();
    let file = FileOffset::new(File::from(memory), 0);
    let ranges = [(GuestAddress(0), MEMORY_BYTES, Some(file))];
    GuestMemoryMmap::from_ranges_with_files(&ranges).unwrap()
}

#[test]
fn a_queue_of_1024_entries_is_served_and_can_be_started_again() {
    in_time(|| {
        let mut vmm = Vmm::connect();
        for _ in 0..3 {
            vmm.start();
            assert_eq!(vmm.read_sector(), [7; 512]);
            assert_eq!(vmm.read_sector(), [7; 512]);
            assert_eq!(vmm.stop(), u32::from(vmm.sent));
        }
    });
}

#[test]
fn a_longer_queue_is_refused() {
    in_time(|| {
        let vmm = Vmm::connect();
        assert!(vmm.frontend.set_vring_num(0, QUEUE_SIZE + 1).is_err());
    });
}

#[test]
fn the_configuration_space_has_the_size_that_is_asked_for() {
    in_time(|| {
        let mut vmm = Vmm::connect();
        for length in [8, 36, 60, 96, 256] {
            let buffer = vec![0; length as usize];
            let flags = VhostUserConfigFlags::empty();
            let space = vmm.frontend.get_config(0, length, flags, &buffer);
            let (_, space) = space.unwrap();
            assert_eq!(space.len(), length as usize);
            assert_eq!(space[..8], 2048_u64.to_le_bytes());
            assert!(space.iter().skip(60).all(|byte| *byte == 0));
        }
    });
}

#[test]
fn the_server_ends_with_the_connection() {
    in_time(|| {
        let mut vmm = Vmm::connect();
        vmm.start();
        assert_eq!(vmm.read_sector(), [7; 512]);
        drop(vmm.frontend);
        vmm.serving.join().unwrap().unwrap();
    });
}
