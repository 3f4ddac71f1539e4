use std::io;
use std::sync::Mutex;

use fstree::ReadAt;
use packed_file::{GROUP_BYTES, PackedFile, ReadError, TAIL_BYTES};

use crate::content::{Run, bytes_of, packed};

/// A file that counts its reads.
struct Counted(Vec<u8>, Mutex<Vec<(u64, u64)>>);

impl ReadAt for Counted {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        self.1
            .lock()
            .expect("no thread has panicked")
            .push((offset_bytes, buf.len() as u64));
        self.0.read_exact_at(buf, offset_bytes)
    }
    fn size_bytes(&self) -> io::Result<u64> {
        self.0.size_bytes()
    }
}

#[test]
fn a_file_is_opened_by_one_read_of_its_end() {
    let plain = bytes_of(&Run::Noise(1, 20 * GROUP_BYTES));
    let (bytes, made) = packed(&plain);
    let length = bytes.len() as u64;
    let counted = Counted(bytes, Mutex::default());
    let file = PackedFile::open(&counted, Some(&made.checksum)).unwrap();
    assert_eq!(
        *counted.1.lock().unwrap(),
        [(length - TAIL_BYTES, TAIL_BYTES)]
    );
    // The table of the section, and the frames of the groups that have the range; later only frames.
    let mut piece = [0; 4096];
    file.read(&mut piece, 5 * 65_536 - 2048).unwrap();
    assert_eq!(piece, plain[5 * 65_536 - 2048..][..4096]);
    assert_eq!(counted.1.lock().unwrap().len(), 1 + 1 + 2);
    file.read(&mut piece, 4096).unwrap();
    assert_eq!(counted.1.lock().unwrap().len(), 1 + 1 + 3);
}

#[test]
fn ranges_beyond_the_end_are_refused_with_their_numbers() {
    let (bytes, _) = packed(b"text");
    let file = PackedFile::open(bytes, None).unwrap();
    for (offset_bytes, length) in [(0, 5), (4, 1), (5, 0), (u64::MAX, 1)] {
        let error = file.read(&mut vec![0; length], offset_bytes).unwrap_err();
        assert!(
            matches!(error, ReadError::OutOfRange { size_bytes: 4, .. }),
            "{error}"
        );
        let error = io::Error::from(error);
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
    file.read(&mut [], 4).unwrap();
}

#[test]
fn groups_are_proven_by_the_file() {
    let plain = bytes_of(&Run::Text(2 * GROUP_BYTES + 100));
    let (bytes, _) = packed(&plain);
    let file = PackedFile::open(bytes, None).unwrap();
    assert!(file.proves(0, &plain).unwrap());
    assert!(file.proves(65_536, &plain[65_536..131_072]).unwrap());
    assert!(file.proves(131_072, &plain[131_072..]).unwrap());
    let mut wrong = plain.clone();
    wrong[131_100] ^= 1;
    assert!(!file.proves(0, &wrong).unwrap());
    // Parts of groups, and what is not of the file.
    for (offset_bytes, bytes) in [
        (0, &plain[..100]),
        (4096, &plain[4096..65_536]),
        (65_536, &plain[..65_536]),
        (131_072, &plain[131_072..131_100]),
        (196_608, &plain[..1]),
        (u64::MAX - 65_535, &plain[..65_536]),
    ] {
        assert!(!file.proves(offset_bytes, bytes).unwrap(), "{offset_bytes}");
    }
}

#[test]
fn sixteen_threads_read_at_once() {
    let plain = bytes_of(&Run::Text(40 * GROUP_BYTES));
    let (bytes, _) = packed(&plain);
    let file = PackedFile::open(bytes, None).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..16_usize {
            let (file, plain) = (&file, &plain);
            scope.spawn(move || {
                for round in 0..50 {
                    let start = (thread * 7919 + round * 104_729) % (plain.len() - 5000);
                    let mut piece = [0; 5000];
                    file.read(&mut piece, start as u64).unwrap();
                    assert!(piece[..] == plain[start..][..5000]);
                }
            });
        }
    });
}
