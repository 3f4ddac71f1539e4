use std::io::Read;

use crate::status::Refusal;

/// The unit of offsets and lengths, in bytes.
pub(crate) const SECTOR_BYTES: u64 = 512;
/// The longest discard, in sectors: 1 GiB.
pub(crate) const DISCARD_MAX_SECTORS: u32 = 1 << 21;
/// The longest range of zeros, in sectors: 32 MiB. They may have to be written, and nothing else uses the disk
/// meanwhile.
pub(crate) const ZERO_MAX_SECTORS: u32 = 1 << 16;

/// The length of a range in a request, in bytes.
const RANGE_BYTES: usize = 16;
/// `VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP` (uapi/linux/virtio_blk.h).
const UNMAP: u32 = 1;

/// Bytes of a disk, all of which it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiskRange {
    pub(crate) offset_bytes: u64,
    pub(crate) length_bytes: u64,
}

impl DiskRange {
    /// Returns the range of `length_bytes` from a sector on, if a disk of `sectors` has it.
    pub(crate) fn checked(sector: u64, length_bytes: u64, sectors: u64) -> Result<Self, Refusal> {
        let end = sector.checked_add(length_bytes / SECTOR_BYTES);
        let is_on_disk = end.is_some_and(|end| end <= sectors);
        let offset_bytes = sector.checked_mul(SECTOR_BYTES);
        match offset_bytes {
            Some(offset_bytes) if is_on_disk && length_bytes.is_multiple_of(SECTOR_BYTES) => {
                Ok(Self {
                    offset_bytes,
                    length_bytes,
                })
            }
            _ => Err(Refusal::Failed),
        }
    }
}

/// The range of a discard or of zeros: `struct virtio_blk_discard_write_zeroes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NamedRange {
    pub(crate) range: DiskRange,
    /// True if the space of the range may be given back.
    pub(crate) may_unmap: bool,
}

impl NamedRange {
    /// Reads the one range that such a request has, which is `available` bytes long.
    pub(crate) fn read(
        from: &mut impl Read,
        available: usize,
        max_sectors: u32,
        sectors: u64,
    ) -> Result<Self, Refusal> {
        if available != RANGE_BYTES {
            return Err(Refusal::Failed);
        }
        let mut bytes = [0; RANGE_BYTES];
        from.read_exact(&mut bytes)?;
        let [first @ .., c0, c1, c2, c3, f0, f1, f2, f3] = bytes;
        let count = u32::from_le_bytes([c0, c1, c2, c3]);
        let flags = u32::from_le_bytes([f0, f1, f2, f3]);
        if flags & !UNMAP != 0 {
            return Err(Refusal::Unsupported);
        }
        if count > max_sectors {
            return Err(Refusal::Failed);
        }
        let length_bytes = u64::from(count) * SECTOR_BYTES;
        Ok(Self {
            range: DiskRange::checked(u64::from_le_bytes(first), length_bytes, sectors)?,
            may_unmap: flags & UNMAP != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_lies_on_the_disk() {
        let range = |sector, length_bytes| DiskRange::checked(sector, length_bytes, 8);
        let whole = DiskRange {
            offset_bytes: 0,
            length_bytes: 4096,
        };
        assert_eq!(range(0, 4096), Ok(whole));
        assert!(range(8, 0).is_ok());
        for (sector, length_bytes) in [
            (9, 0),
            (0, 4608),
            (7, 1024),
            (0, 511),
            (u64::MAX, 512),
            (u64::MAX / 512 + 1, 0),
            (1, u64::MAX),
        ] {
            let refused = range(sector, length_bytes);
            assert_eq!(refused, Err(Refusal::Failed), "{sector} {length_bytes}");
        }
    }
}
