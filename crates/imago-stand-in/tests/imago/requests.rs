//! The same requests give the same bytes as an array does, in a raw file and in generations.

use std::fs;
use std::ops::Range;
use std::path::Path;

use generations::{BLOCK_BYTES, FileStorage, Pool};
use proptest::prelude::*;

use crate::as_libkrun::{Disk, discard_align};
use crate::expected::{Request, SIZE_BYTES, bytes, requests};

/// The unit in which a disk forgets what is discarded.
#[derive(Debug, Clone, Copy)]
enum Discarded {
    /// Whole blocks of a file, of this many bytes.
    Whole(usize),
    /// Blocks of a disk of generations, the last one also if it is shorter.
    Generations,
}

impl Discarded {
    fn of(self, range: &Range<usize>) -> Range<usize> {
        let (unit, ends) = match self {
            Self::Whole(unit) => (unit, false),
            Self::Generations => (BLOCK_BYTES as usize, range.end == SIZE_BYTES),
        };
        let start = range.start.next_multiple_of(unit);
        let end = if ends {
            SIZE_BYTES
        } else {
            range.end / unit * unit
        };
        start..end.max(start)
    }
}

fn range(at: usize, lengths: &[usize]) -> Range<usize> {
    at..at + lengths.iter().sum::<usize>()
}

/// Carries a request out on a disk and on an array. Those that do not lie on the disk fail.
fn carry_out(disk: &Disk, array: &mut [u8], request: &Request, discarded: Discarded) {
    let at = |range: &Range<usize>| (range.start as u64, range.len() as u64);
    let (range, outcome) = match request {
        Request::Read(lengths, at) => {
            let range = range(*at, lengths);
            let read = disk.read(lengths, *at as u64);
            let read = read.map(|bytes| assert_eq!(Some(&*bytes), array.get(range.clone())));
            (range, read)
        }
        Request::Write(lengths, at, byte) => {
            let range = range(*at, lengths);
            let bytes = bytes(lengths, *byte);
            if let Some(changed) = array.get_mut(range.clone()) {
                changed.copy_from_slice(&bytes);
            }
            (range, disk.write(lengths, &bytes, *at as u64))
        }
        Request::WriteZeroes(range) => {
            zero(array, range.clone());
            let (at, length) = at(range);
            (range.clone(), disk.write_zeroes(at, length))
        }
        Request::DiscardToZero(range) => {
            zero(array, range.clone());
            let (at, length) = at(range);
            (range.clone(), disk.discard_to_zero(at, length))
        }
        Request::Discard(range) => {
            if range.end <= SIZE_BYTES {
                zero(array, discarded.of(range));
            }
            let (at, length) = at(range);
            (range.clone(), disk.discard_to_any(at, length))
        }
        Request::Flush => (0..0, disk.flush()),
    };
    assert_eq!(outcome.is_ok(), range.end <= SIZE_BYTES, "{outcome:?}");
}

fn zero(array: &mut [u8], range: Range<usize>) {
    if let Some(zeroed) = array.get_mut(range) {
        zeroed.fill(0);
    }
}

fn raw_file(path: &Path) -> Vec<u8> {
    let content: Vec<u8> = (0..SIZE_BYTES).map(|index| (index % 251) as u8).collect();
    fs::write(path, &content).unwrap();
    content
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_raw_file_holds_what_an_array_would(requests in requests()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("disk");
        let mut array = raw_file(&path);
        let disk = Disk::raw(&path, false).unwrap();
        let unit = discard_align(&path).unwrap();
        prop_assert_eq!(disk.size_bytes(), SIZE_BYTES as u64);
        for request in &requests {
            carry_out(&disk, &mut array, request, Discarded::Whole(unit));
        }
        prop_assert!(fs::read(&path).unwrap() == array);
    }

    #[test]
    fn generations_hold_what_an_array_would(requests in requests()) {
        let directory = tempfile::tempdir().unwrap();
        let pool = Pool::new(FileStorage::open(directory.path()).unwrap());
        let id = pool.new_disk_id().unwrap();
        pool.create_disk(id, SIZE_BYTES as u64).unwrap();
        let mut array = vec![0; SIZE_BYTES];
        {
            let opened = pool.open_disk(id).unwrap();
            let registered = imago::register(Box::new(opened)).unwrap();
            let disk = Disk::raw(registered.path(), false).unwrap();
            prop_assert_eq!(disk.size_bytes(), SIZE_BYTES as u64);
            for request in &requests {
                carry_out(&disk, &mut array, request, Discarded::Generations);
            }
            disk.flush().unwrap();
        }
        let mut found = vec![0; SIZE_BYTES];
        pool.read_disk(id).unwrap().read(&mut found, 0).unwrap();
        prop_assert!(found == array);
    }
}

#[test]
fn a_disk_that_was_opened_to_be_read_is_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("disk");
    let content = raw_file(&path);
    let disk = Disk::raw(&path, true).unwrap();
    assert!(disk.write(&[512], &[1; 512], 0).is_err());
    assert!(disk.write_zeroes(0, 512).is_err());
    assert!(disk.discard_to_zero(0, 512).is_err());
    assert!(disk.discard_to_any(0, 512).is_err());
    disk.flush().unwrap();
    assert!(disk.read(&[SIZE_BYTES], 0).unwrap() == content);
}

#[test]
fn a_file_that_became_shorter_is_an_error_of_the_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("disk");
    raw_file(&path);
    let disk = Disk::raw(&path, false).unwrap();
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(4096)
        .unwrap();
    assert!(disk.read(&[4096], 0).is_ok());
    assert!(disk.read(&[4096, 4096], 0).is_err());
}
