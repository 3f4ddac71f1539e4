//! The features and the configuration space (`struct virtio_blk_config`, uapi/linux/virtio_blk.h).

use crate::range::{DISCARD_MAX_SECTORS, SECTOR_BYTES, ZERO_MAX_SECTORS};

/// The length of a serial number, in bytes: `VIRTIO_BLK_ID_BYTES`. A longer one is cut off.
pub const SERIAL_MAX_BYTES: usize = 20;

/// `VIRTIO_BLK_F_SEG_MAX`, `VIRTIO_BLK_F_RO`, `VIRTIO_BLK_F_BLK_SIZE`, `VIRTIO_BLK_F_FLUSH`, `VIRTIO_BLK_F_DISCARD` and
/// `VIRTIO_BLK_F_WRITE_ZEROES`.
const SEGMENTS: u64 = 1 << 2;
const READ_ONLY: u64 = 1 << 5;
const BLOCK_SIZE: u64 = 1 << 6;
const FLUSH: u64 = 1 << 9;
const DISCARD: u64 = 1 << 13;
const WRITE_ZEROES: u64 = 1 << 14;

/// The most buffers for the data of a request: as many as QEMU's own device has.
const SEGMENTS_MAX: u32 = 254;
/// The unit in which space is given back, in sectors: the blocks of 4 KiB that filesystems of hosts have.
const DISCARD_SECTORS: u32 = 8;
/// The most ranges of a discard, and of a request for zeros.
const RANGES_MAX: u32 = 1;

/// Returns the features that the device offers.
pub(crate) const fn features(is_read_only: bool) -> u64 {
    let common = SEGMENTS | BLOCK_SIZE | FLUSH;
    if is_read_only {
        common | READ_ONLY
    } else {
        common | DISCARD | WRITE_ZEROES
    }
}

/// Returns the configuration space of a disk of `sectors`.
pub(crate) fn space(sectors: u64) -> Vec<u8> {
    let sector_bytes = u32::try_from(SECTOR_BYTES).unwrap_or(u32::MAX);
    [
        &sectors.to_le_bytes()[..],
        // The longest segment, which is not limited.
        &[0; 4],
        &SEGMENTS_MAX.to_le_bytes(),
        // Cylinders, heads and sectors of a track, which are not offered.
        &[0; 4],
        &sector_bytes.to_le_bytes(),
        // The topology, and whether writes are cached, which are not offered.
        &[0; 10],
        &1_u16.to_le_bytes(),
        &DISCARD_MAX_SECTORS.to_le_bytes(),
        &RANGES_MAX.to_le_bytes(),
        &DISCARD_SECTORS.to_le_bytes(),
        &ZERO_MAX_SECTORS.to_le_bytes(),
        &RANGES_MAX.to_le_bytes(),
        // Zeros may free the space of a range; three unused bytes follow.
        &[1, 0, 0, 0],
    ]
    .concat()
}

/// Returns a serial number as a guest gets it: with zeros behind it.
pub(crate) fn serial(text: &str) -> [u8; SERIAL_MAX_BYTES] {
    let mut serial = [0; SERIAL_MAX_BYTES];
    for (byte, value) in serial.iter_mut().zip(text.bytes()) {
        *byte = value;
    }
    serial
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_the_header_has_them() {
        let space = space(0x1122_3344);
        let word = |at: usize| u32::from_le_bytes(space[at..at + 4].try_into().unwrap());
        assert_eq!(space.len(), 60);
        assert_eq!(word(0), 0x1122_3344);
        assert_eq!(word(12), SEGMENTS_MAX);
        assert_eq!(word(20), 512);
        assert_eq!(space[34..36], [1, 0]);
        assert_eq!(word(36), DISCARD_MAX_SECTORS);
        assert_eq!(word(40), 1);
        assert_eq!(word(44), 8);
        assert_eq!(word(48), ZERO_MAX_SECTORS);
        assert_eq!(word(52), 1);
        assert_eq!(space[56..], [1, 0, 0, 0]);
    }

    #[test]
    fn a_serial_has_a_fixed_length() {
        assert_eq!(serial("upper")[..7], *b"upper\0\0");
        assert_eq!(serial("twenty-bytes-serial_!"), *b"twenty-bytes-serial_");
    }
}
