//! A served disk that the VMM's own threads read and write.
//!
//! They may use the files that are open, and open none: a flush can have to make some, and then the thread
//! that cuts the disk carries it out.

use std::io::{self, IoSlice, IoSliceMut};

use served_disk::Disk;

use crate::disk_cut::{DiskOrders, SharedDisk};

/// A disk for a VMM that calls it.
#[derive(Debug)]
pub(crate) struct CalledDisk {
    disk: SharedDisk,
    orders: DiskOrders,
}

impl CalledDisk {
    pub(crate) const fn new(disk: SharedDisk, orders: DiskOrders) -> Self {
        Self { disk, orders }
    }
}

impl Disk for CalledDisk {
    fn size_bytes(&self) -> u64 {
        self.disk.size_bytes()
    }

    fn read(&mut self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        self.disk.read(buf, offset_bytes)
    }

    fn read_vectored(
        &mut self,
        buffers: &mut [IoSliceMut<'_>],
        offset_bytes: u64,
    ) -> io::Result<()> {
        self.disk.read_vectored(buffers, offset_bytes)
    }

    fn write(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        self.disk.write(bytes, offset_bytes)
    }

    fn write_vectored(&mut self, buffers: &mut [IoSlice<'_>], offset_bytes: u64) -> io::Result<()> {
        self.disk.write_vectored(buffers, offset_bytes)
    }

    fn zero(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        self.disk.zero(offset_bytes, length_bytes)
    }

    fn discard(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        self.disk.discard(offset_bytes, length_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut disk = self.disk.lock()?;
        if disk.flushes_one_file() {
            return Ok(disk.flush()?);
        }
        drop(disk);
        self.orders.flush().map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use generations::{FileStorage, Pool};

    use super::*;
    use crate::disk_cut::disk_orders;

    const SIZE_BYTES: u64 = 1 << 20;

    fn blocks(directory: &std::path::Path) -> u64 {
        let entries = std::fs::read_dir(directory).expect("listed");
        let blocks = entries.map(|entry| entry.expect("read").metadata().expect("read").blocks());
        blocks.sum()
    }

    #[test]
    fn a_flush_is_carried_out_by_the_other_thread_and_gives_back_what_was_discarded() {
        let directory = tempfile::tempdir().expect("a directory");
        let pool = Pool::new(FileStorage::open(directory.path()).expect("made"));
        let id = pool.new_disk_id().expect("random bytes");
        pool.create_disk(id, SIZE_BYTES).expect("made");
        let mut opened = pool.open_disk(id).expect("opened");
        opened.cut().expect("cut");
        let shared = SharedDisk::new(opened);
        let (orders, work) = disk_orders();
        let mut disk = CalledDisk::new(shared.clone(), orders);
        let worker = std::thread::spawn(move || work.carry_out(&shared));
        disk.write(&[7; SIZE_BYTES as usize], 0).expect("written");
        disk.flush().expect("flushed");
        let full = blocks(directory.path());
        disk.discard(4096, SIZE_BYTES - 4096).expect("discarded");
        disk.flush().expect("flushed");
        assert!(
            blocks(directory.path()) < full / 2,
            "nothing was given back"
        );
        drop(disk);
        worker
            .join()
            .expect("it ends without anybody who gives orders");
        let mut bytes = [0; 8192];
        let read = pool.read_disk(id).expect("opened").read(&mut bytes, 0);
        read.expect("read");
        assert_eq!(bytes[..4096], [7; 4096]);
        assert_eq!(bytes[4096..], [0; 4096]);
    }

    #[test]
    fn without_the_other_thread_a_flush_is_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        let pool = Pool::new(FileStorage::open(directory.path()).expect("made"));
        let id = pool.new_disk_id().expect("random bytes");
        pool.create_disk(id, SIZE_BYTES).expect("made");
        let shared = SharedDisk::new(pool.open_disk(id).expect("opened"));
        let (orders, work) = disk_orders();
        drop(work);
        let mut disk = CalledDisk::new(shared.clone(), orders);
        assert!(disk.flush().is_err());
        // Once its files exist, a disk that was never cut needs no other thread.
        shared.lock().expect("whole").flush().expect("flushed");
        disk.write(b"later", 0).expect("written");
        disk.flush().expect("one sync");
        shared.lock().expect("whole").cut().expect("cut");
        assert!(disk.flush().is_err());
    }
}
