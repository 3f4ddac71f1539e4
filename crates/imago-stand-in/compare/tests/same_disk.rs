//! The same requests make the same raw file through both crates, and read the same bytes.

use std::fs;

use imago_compare::{Disk, imago, ours};
use proptest::prelude::*;

#[allow(dead_code, reason = "buffers of one length are enough here")]
#[path = "../../tests/imago/expected.rs"]
mod expected;

use expected::{Request, SIZE_BYTES, bytes, requests};

/// Carries a request out, and returns the bytes that were read.
fn carry_out(disk: &mut dyn Disk, request: &Request) -> Vec<u8> {
    match request {
        Request::Read(lengths, at) => {
            let mut buffer = vec![0xee; lengths.iter().sum()];
            let piece = lengths.first().copied().unwrap_or(0).max(64);
            disk.read(&mut buffer, piece, *at as u64).unwrap();
            return buffer;
        }
        Request::Write(lengths, at, byte) => {
            let piece = lengths.first().copied().unwrap_or(0).max(64);
            disk.write(&bytes(lengths, *byte), piece, *at as u64)
                .unwrap();
        }
        Request::WriteZeroes(range) => {
            disk.write_zeroes(range.start as u64, range.len() as u64)
                .unwrap();
        }
        Request::DiscardToZero(range) => {
            disk.discard_to_zero(range.start as u64, range.len() as u64)
                .unwrap();
        }
        Request::Discard(range) => {
            disk.discard_to_any(range.start as u64, range.len() as u64)
                .unwrap();
        }
        Request::Flush => disk.flush().unwrap(),
    }
    Vec::new()
}

/// Returns true if the request lies on the disk. Beyond it imago reads zeros, and the stand-in refuses.
fn is_on_disk(request: &Request) -> bool {
    let end = match request {
        Request::Read(lengths, at) | Request::Write(lengths, at, _) => {
            at + lengths.iter().sum::<usize>()
        }
        Request::WriteZeroes(range) | Request::DiscardToZero(range) | Request::Discard(range) => {
            range.end
        }
        Request::Flush => 0,
    };
    end <= SIZE_BYTES
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn oracle_imago_makes_the_same_file(requests in requests()) {
        let directory = tempfile::tempdir().unwrap();
        let (theirs, own) = (directory.path().join("imago"), directory.path().join("ours"));
        let content: Vec<u8> = (0..SIZE_BYTES).map(|index| (index % 251) as u8).collect();
        fs::write(&theirs, &content).unwrap();
        fs::write(&own, &content).unwrap();
        let (mut imago, mut ours) = (imago::raw(&theirs).unwrap(), ours::raw(&own).unwrap());
        for request in requests.iter().filter(|request| is_on_disk(request)) {
            prop_assert!(carry_out(&mut imago, request) == carry_out(&mut ours, request));
        }
        prop_assert!(fs::read(&theirs).unwrap() == fs::read(&own).unwrap());
    }
}
