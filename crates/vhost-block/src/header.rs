use std::io::{self, Read};

/// The length of a header, in bytes.
const HEADER_BYTES: usize = 16;

/// The kind of a request: its number in uapi/linux/virtio_blk.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The guest reads bytes of the disk: `VIRTIO_BLK_T_IN`.
    Read,
    /// The guest writes bytes to the disk: `VIRTIO_BLK_T_OUT`.
    Write,
    /// Earlier changes become durable: `VIRTIO_BLK_T_FLUSH`.
    Flush,
    /// The guest reads the serial number: `VIRTIO_BLK_T_GET_ID`.
    Serial,
    /// A range is not needed any more: `VIRTIO_BLK_T_DISCARD`.
    Discard,
    /// A range becomes zeros: `VIRTIO_BLK_T_WRITE_ZEROES`.
    WriteZeroes,
    /// A kind that the device does not know.
    Unknown,
}

/// The beginning of a request: `struct virtio_blk_outhdr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// The first sector of a read or a write.
    pub(crate) sector: u64,
}

impl Header {
    /// Reads a header. The priority in it is a hint, which is ignored.
    pub(crate) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut bytes = [0; HEADER_BYTES];
        from.read_exact(&mut bytes)?;
        let [kind @ .., _, _, _, _, s0, s1, s2, s3, s4, s5, s6, s7] = bytes;
        Ok(Self {
            kind: Kind::from_number(u32::from_le_bytes(kind)),
            sector: u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
        })
    }
}

impl Kind {
    const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Read,
            1 => Self::Write,
            4 => Self::Flush,
            8 => Self::Serial,
            11 => Self::Discard,
            13 => Self::WriteZeroes,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_a_kind_and_a_sector() {
        let bytes = [
            &13_u32.to_le_bytes()[..],
            &7_u32.to_le_bytes(),
            &0x1234_5678_9abc_u64.to_le_bytes(),
        ]
        .concat();
        let header = Header::read(&mut &bytes[..]).unwrap();
        assert_eq!(header.kind, Kind::WriteZeroes);
        assert_eq!(header.sector, 0x1234_5678_9abc);
        assert!(Header::read(&mut &bytes[..15]).is_err());
    }
}
