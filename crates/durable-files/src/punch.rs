use std::io;
use std::os::fd::AsFd;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// Makes a range of a file a hole, which reads as zeros and takes no space. The length of the file stays. A filesystem
/// without holes keeps the bytes.
///
/// # Errors
/// If that fails.
pub fn punch(file: impl AsFd, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match fallocate(file, flags, offset_bytes, length_bytes) {
        Err(Errno::OPNOTSUPP) => Ok(()),
        punched => Ok(punched?),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;
    use crate::allocated_bytes;

    #[test]
    fn a_punched_range_takes_no_space_and_the_length_stays() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 1 << 20], 0).unwrap();
        let before_bytes = allocated_bytes(&file.metadata().unwrap());
        punch(&file, 0, 512 << 10).unwrap();
        let after = file.metadata().unwrap();
        assert!(allocated_bytes(&after) < before_bytes);
        assert_eq!(after.len(), 1 << 20);
        let mut byte = [1];
        file.read_exact_at(&mut byte, 100).unwrap();
        assert_eq!(byte, [0]);
    }
}
