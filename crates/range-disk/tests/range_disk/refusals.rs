//! Ranges and requests that are refused, and sources that fail.

use std::io;

use fstree::ReadAt;
use range_disk::{PushError, RangeDisk};
use served_disk::Disk as _;

/// A source of 8 bytes that can be read or not.
struct Source(Result<u8, io::ErrorKind>);

impl ReadAt for Source {
    fn read_exact_at(&self, buf: &mut [u8], _: u64) -> io::Result<()> {
        buf.fill(self.0?);
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(8)
    }
}

#[test]
fn a_range_lies_in_its_source_and_on_a_disk() {
    let mut disk = RangeDisk::new();
    for (offset_bytes, length_bytes) in [(0, 9), (8, 1), (9, 0), (u64::MAX, 1), (1, u64::MAX)] {
        let pushed = disk.push(Source(Ok(1)), offset_bytes, length_bytes);
        assert!(
            matches!(
                pushed,
                Err(PushError::Short {
                    source_bytes: 8,
                    ..
                })
            ),
            "{offset_bytes} {length_bytes}: {pushed:?}"
        );
    }
    assert_eq!(disk.size_bytes(), 0);
    disk.push(Source(Ok(1)), 0, 8).expect("it fits");
    disk.push_zeros(u64::MAX - 8).expect("it fits");
    let pushed = disk.push(Source(Ok(1)), 0, 1);
    assert!(
        matches!(pushed, Err(PushError::TooLong { .. })),
        "{pushed:?}"
    );
    disk.push(Source(Ok(1)), 0, 0).expect("nothing is added");
    assert_eq!(disk.size_bytes(), u64::MAX);
    let mut last = [1];
    disk.read(&mut last, u64::MAX - 1).expect("read");
    assert_eq!(last, [0]);
}

#[test]
fn a_source_that_fails_fails_its_own_reads() {
    let mut disk = RangeDisk::new();
    for source in [Ok(1), Err(io::ErrorKind::InvalidData), Ok(3)] {
        disk.push(Source(source), 0, 8).expect("it fits");
    }
    let mut read = [0; 8];
    disk.read(&mut read, 0).expect("the first");
    assert_eq!(read, [1; 8]);
    for offset_bytes in [1, 8, 15] {
        let error = disk.read(&mut read, offset_bytes).expect_err("the second");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
    disk.read(&mut read, 16).expect("the third");
    assert_eq!(read, [3; 8]);
}

#[test]
fn nothing_is_read_beyond_the_end() {
    let mut disk = RangeDisk::new();
    disk.push(Source(Ok(1)), 0, 8).expect("it fits");
    for offset_bytes in [1, 8, 9, u64::MAX] {
        let error = disk.read(&mut [0; 8], offset_bytes).expect_err("refused");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}

#[test]
fn nothing_changes_the_disk() {
    let mut disk = RangeDisk::new();
    disk.push(Source(Ok(1)), 0, 8).expect("it fits");
    assert!(disk.write(&[2], 0).is_err());
    assert!(disk.zero(0, 1).is_err());
    assert!(disk.discard(0, 1).is_err());
    disk.flush().expect("there is nothing to do");
}
