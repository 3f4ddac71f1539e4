//! The registration of disks that are open already.

use std::io;
use std::sync::{Arc, Mutex};

use crate::as_libkrun::Disk;

/// A disk in memory, of which a test keeps another reference.
#[derive(Clone)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl served_disk::Disk for Memory {
    fn size_bytes(&self) -> u64 {
        self.0.lock().unwrap().len() as u64
    }

    fn read(&mut self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let start = offset_bytes as usize;
        buf.copy_from_slice(&self.0.lock().unwrap()[start..start + buf.len()]);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        let start = offset_bytes as usize;
        self.0.lock().unwrap()[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn zero(&mut self, _offset_bytes: u64, _length_bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn discard(&mut self, _offset_bytes: u64, _length_bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn memory(length: usize) -> Memory {
    Memory(Arc::new(Mutex::new(vec![0; length])))
}

#[test]
fn each_disk_has_a_path_that_can_be_opened_by_its_own() {
    let (one, other) = (memory(4096), memory(8192));
    let first = imago::register(Box::new(one.clone())).unwrap();
    let second = imago::register(Box::new(other)).unwrap();
    // libkrun opens the path before it opens the disk.
    std::fs::File::options()
        .read(true)
        .write(true)
        .open(first.path())
        .unwrap();
    let disk = Disk::raw(first.path(), false).unwrap();
    assert_eq!(disk.size_bytes(), 4096);
    assert_eq!(Disk::raw(second.path(), false).unwrap().size_bytes(), 8192);
    disk.write(&[512, 512], &[7; 1024], 1024).unwrap();
    assert_eq!(one.0.lock().unwrap()[1024..2048], [7; 1024]);
    let error = disk.discard_to_zero(0, 512).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    // The path leads to an empty file now.
    assert_eq!(Disk::raw(first.path(), false).unwrap().size_bytes(), 0);
}

#[test]
fn a_registration_ends_with_its_value() {
    let disk = memory(4096);
    let registered = imago::register(Box::new(disk.clone())).unwrap();
    assert_eq!(Arc::strong_count(&disk.0), 2);
    drop(registered);
    assert_eq!(Arc::strong_count(&disk.0), 1);
}

#[test]
fn a_request_of_many_buffers_is_carried_out_in_pieces() {
    const LENGTH: usize = 3 << 20;
    let registered = imago::register(Box::new(memory(LENGTH))).unwrap();
    let disk = Disk::raw(registered.path(), false).unwrap();
    let lengths = [4095; LENGTH / 4095];
    let bytes: Vec<u8> = (0..LENGTH).map(|index| (index % 253) as u8).collect();
    let sum = 4095 * lengths.len();
    disk.write(&lengths, &bytes[..sum], 0).unwrap();
    assert!(disk.read(&[1, sum - 1], 0).unwrap() == bytes[..sum]);
    assert!(disk.read(&lengths, 0).unwrap() == bytes[..sum]);
}
