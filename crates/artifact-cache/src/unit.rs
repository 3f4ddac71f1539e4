use crate::narrow;

/// The unit in which an artifact is fetched: aligned, and shorter only at the artifact's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FetchUnit {
    /// 64 KiB: one frame of a packed file. For sources on this host.
    #[default]
    Group,
    /// 1 MiB, for sources on a network, whose latency is worth more bytes.
    Mebibyte,
}

impl FetchUnit {
    /// Returns the length of a unit, in bytes.
    pub const fn length_bytes(self) -> u64 {
        match self {
            Self::Group => 64 << 10,
            Self::Mebibyte => 1 << 20,
        }
    }

    /// Returns the unit that has a byte of an artifact of `size_bytes`.
    pub(crate) fn range_of(self, offset_bytes: u64, size_bytes: u64) -> UnitRange {
        let number = offset_bytes / self.length_bytes();
        let start_bytes = number * self.length_bytes();
        let left_bytes = size_bytes.saturating_sub(start_bytes);
        UnitRange {
            number,
            start_bytes,
            length: narrow(left_bytes.min(self.length_bytes())),
        }
    }
}

/// The place of a unit in an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnitRange {
    pub(crate) number: u64,
    pub(crate) start_bytes: u64,
    /// Its length, in bytes.
    pub(crate) length: usize,
}
