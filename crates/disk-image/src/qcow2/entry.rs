use super::header::Header;
use crate::Corrupt;
use crate::bytes::SECTOR_BYTES;

/// Bits 9 to 55 of an entry: an offset in the file, in bytes.
const OFFSET_MASK: u64 = 0x00ff_ffff_ffff_fe00;
/// Bits of an entry of the first table that are always 0.
const L1_RESERVED: u64 = 0x7f00_0000_0000_01ff;
/// Bits of an entry of a second table that are always 0, but for the flag of zeros.
const L2_RESERVED: u64 = 0x3f00_0000_0000_01fe;
/// `QCOW_OFLAG_COMPRESSED`.
const COMPRESSED: u64 = 1 << 62;
/// `QCOW_OFLAG_ZERO`.
const ZERO: u64 = 1;

/// The content of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cluster {
    Zeros,
    /// The content lies at this offset of the file.
    Stored {
        offset_bytes: u64,
    },
    /// Compressed, in at most `length_bytes` of the file.
    Compressed {
        offset_bytes: u64,
        length_bytes: u64,
    },
}

/// An entry of a table, and where it lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) value: u64,
    /// Offset of the entry in the file, in bytes.
    pub(super) at_bytes: u64,
}

impl Entry {
    /// Returns the offset of the second table that an entry of the first one names; `None` if there is
    /// none, so that all its clusters are zeros.
    pub(super) fn l2_table(self, header: &Header, file_bytes: u64) -> Result<Option<u64>, Corrupt> {
        let corrupt = |fault: String| Corrupt::new("L1 entry", self.at_bytes, fault);
        if self.value & L1_RESERVED != 0 {
            return Err(corrupt(format!("it is {:#x}", self.value)));
        }
        let offset_bytes = self.value & OFFSET_MASK;
        if offset_bytes == 0 {
            return Ok(None);
        }
        let cluster_bytes = 1 << header.cluster_bits;
        if !offset_bytes.is_multiple_of(cluster_bytes) {
            return Err(corrupt(format!(
                "the table at {offset_bytes} is not aligned"
            )));
        }
        // A table is read as a whole.
        if offset_bytes.saturating_add(cluster_bytes) > file_bytes {
            return Err(corrupt(beyond(offset_bytes, file_bytes)));
        }
        Ok(Some(offset_bytes))
    }

    /// Returns the cluster that an entry of a second table names.
    pub(super) fn cluster(self, header: &Header, file_bytes: u64) -> Result<Cluster, Corrupt> {
        let corrupt = |fault: String| Corrupt::new("L2 entry", self.at_bytes, fault);
        if self.value & COMPRESSED != 0 {
            let (offset_bytes, length_bytes) = self.compressed(header);
            if offset_bytes >= file_bytes {
                return Err(corrupt(beyond(offset_bytes, file_bytes)));
            }
            // The last sector may be cut off with the file.
            let length_bytes = length_bytes.min(file_bytes - offset_bytes);
            return Ok(Cluster::Compressed {
                offset_bytes,
                length_bytes,
            });
        }
        let is_zero = header.has_zero_flags && self.value & ZERO != 0;
        let has_reserved = self.value & L2_RESERVED != 0;
        if has_reserved || (!header.has_zero_flags && self.value & ZERO != 0) {
            return Err(corrupt(format!("it is {:#x}", self.value)));
        }
        let offset_bytes = self.value & OFFSET_MASK;
        if !offset_bytes.is_multiple_of(1 << header.cluster_bits) {
            return Err(corrupt(format!(
                "the cluster at {offset_bytes} is not aligned"
            )));
        }
        if is_zero || offset_bytes == 0 {
            return Ok(Cluster::Zeros);
        }
        // The end of the last cluster may be missing: QEMU reads zeros there.
        if offset_bytes >= file_bytes {
            return Err(corrupt(beyond(offset_bytes, file_bytes)));
        }
        Ok(Cluster::Stored { offset_bytes })
    }

    /// Splits a descriptor of a compressed cluster into offset and length ("Compressed Clusters
    /// Descriptor"): bits 0 to 61 - (`cluster_bits` - 8) are the offset, the others up to 61 the number of
    /// further sectors.
    fn compressed(self, header: &Header) -> (u64, u64) {
        let offset_bits = 62 - (header.cluster_bits - 8);
        let descriptor = self.value & (COMPRESSED - 1);
        let offset_bytes = descriptor & ((1 << offset_bits) - 1);
        let sectors = (descriptor >> offset_bits) + 1;
        let length_bytes = sectors * SECTOR_BYTES - offset_bytes % SECTOR_BYTES;
        (offset_bytes, length_bytes)
    }
}

fn beyond(offset_bytes: u64, file_bytes: u64) -> String {
    format!("it names byte {offset_bytes}, and the file ends at {file_bytes}")
}
