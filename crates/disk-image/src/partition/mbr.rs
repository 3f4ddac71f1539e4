use std::io;

use fstree::ReadAt;

use super::{Partition, PartitionError, PartitionKind};
use crate::Corrupt;
use crate::bytes::{SECTOR_BYTES, array, read_array, u32_le};

/// Offset of the four entries, in bytes.
const ENTRIES: usize = 446;
const ENTRY_BYTES: usize = 16;
/// The bytes at the end of the sector.
const SIGNATURE: [u8; 2] = [0x55, 0xaa];
/// The number of the first logical partition.
const FIRST_LOGICAL: u32 = 5;
/// Sectors that are read of a chain at most, each with a logical partition or none: Linux makes no more device
/// nodes for an MBR.
const CHAIN_MAX: u32 = 251;
/// The type of the partition that covers a disk with a GPT.
const PROTECTIVE: u8 = 0xee;
/// The types of partitions that hold logical ones.
const EXTENDED: [u8; 3] = [0x05, 0x0f, 0x85];
/// The types of partitions that hold no root: FAT, NTFS, hidden ones, PReP boot, swap, EFI system.
const NOT_ROOTS: [u8; 13] = [
    0x01, 0x04, 0x06, 0x07, 0x0b, 0x0c, 0x0e, 0x11, 0x27, 0x41, 0x82, 0xde, 0xef,
];

/// A sector with a table of four partitions: the first one of the disk, or one of the chain of logical
/// partitions.
pub(super) struct Sector {
    entries: [Entry; 4],
}

/// An entry, in sectors.
#[derive(Debug, Clone, Copy)]
struct Entry {
    status: u8,
    kind: u8,
    first: u64,
    count: u64,
}

impl Entry {
    fn read(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let [status, _, _, _, kind, ..] = *bytes;
        Self {
            status,
            kind,
            first: u32_le(bytes, 8).into(),
            count: u32_le(bytes, 12).into(),
        }
    }

    fn is_used(self) -> bool {
        self.kind != 0 && self.count != 0
    }

    fn is_extended(self) -> bool {
        self.is_used() && EXTENDED.contains(&self.kind)
    }
}

/// Reads the first sector of a disk; `None` if it has no partition table. The boot sector of a filesystem
/// has the same signature, and code or zeros in the place of the entries.
pub(super) fn read(disk: &impl ReadAt, disk_bytes: u64) -> io::Result<Option<Sector>> {
    let sector = read_sector(disk, disk_bytes, 0)?;
    Ok(sector.filter(|sector| {
        let mut entries = sector.entries.iter();
        let is_table = entries.all(|entry| matches!(entry.status, 0 | 0x80));
        is_table && sector.entries.iter().any(|entry| entry.is_used())
    }))
}

fn read_sector(disk: &impl ReadAt, disk_bytes: u64, number: u64) -> io::Result<Option<Sector>> {
    let at_bytes = number.saturating_mul(SECTOR_BYTES);
    let bytes: Option<[u8; 512]> = read_array(disk, disk_bytes, at_bytes)?;
    let bytes = bytes.filter(|bytes| bytes.ends_with(&SIGNATURE));
    Ok(bytes.map(|bytes| Sector {
        entries: std::array::from_fn(|index| {
            Entry::read(&array(&bytes, ENTRIES + index * ENTRY_BYTES))
        }),
    }))
}

impl Sector {
    /// Returns true if the disk has a GPT, too.
    pub(super) fn is_protective(&self) -> bool {
        self.entries.iter().any(|entry| entry.kind == PROTECTIVE)
    }

    /// Returns all partitions, the logical ones included, but not those that hold these.
    pub(super) fn partitions(
        &self,
        disk: &impl ReadAt,
        disk_bytes: u64,
    ) -> Result<Vec<Partition>, PartitionError> {
        let mut partitions = Vec::new();
        let used = (1..).zip(self.entries).filter(|(_, entry)| entry.is_used());
        for (number, entry) in used.clone() {
            if !entry.is_extended() {
                partitions.push(partition(number, entry, 0, disk_bytes)?);
            }
        }
        for (_, entry) in used {
            if entry.is_extended() {
                add_logical(disk, disk_bytes, entry.first, &mut partitions)?;
            }
        }
        Ok(partitions)
    }
}

/// Follows the chain of sectors in an extended partition that begins at `start`.
fn add_logical(
    disk: &impl ReadAt,
    disk_bytes: u64,
    start: u64,
    partitions: &mut Vec<Partition>,
) -> Result<(), PartitionError> {
    let logical = partitions
        .iter()
        .filter(|known| known.number >= FIRST_LOGICAL);
    let mut number = logical
        .map(|known| known.number + 1)
        .max()
        .unwrap_or(FIRST_LOGICAL);
    let mut at = start;
    for _ in 0..CHAIN_MAX {
        let offset_bytes = at.saturating_mul(SECTOR_BYTES);
        let corrupt = |fault: &str| Corrupt::new("extended partition table", offset_bytes, fault);
        let sector = read_sector(disk, disk_bytes, at)?;
        let sector = sector
            .ok_or_else(|| corrupt("it has no signature, or is beyond the end of the disk"))?;
        let mut used = sector.entries.into_iter().filter(|entry| entry.is_used());
        if let Some(entry) = used.clone().find(|entry| !entry.is_extended()) {
            partitions.push(partition(number, entry, at, disk_bytes)?);
            number += 1;
        }
        let Some(next) = used.find(|entry| entry.is_extended()) else {
            return Ok(());
        };
        let next = start.saturating_add(next.first);
        if next <= at {
            return Err(corrupt("it leads back").into());
        }
        at = next;
    }
    Ok(())
}

fn partition(
    number: u32,
    entry: Entry,
    base: u64,
    disk_bytes: u64,
) -> Result<Partition, PartitionError> {
    let first = base.saturating_add(entry.first);
    let end_bytes = (first.saturating_add(entry.count)).saturating_mul(SECTOR_BYTES);
    if end_bytes > disk_bytes {
        let fault = format!(
            "partition {number} has {} sectors from {first} on, the disk has {}",
            entry.count,
            disk_bytes / SECTOR_BYTES
        );
        return Err(
            Corrupt::new("partition table", base.saturating_mul(SECTOR_BYTES), fault).into(),
        );
    }
    let kind = if NOT_ROOTS.contains(&entry.kind) {
        PartitionKind::NotRoot
    } else {
        PartitionKind::Other
    };
    Ok(Partition {
        number,
        start_bytes: first * SECTOR_BYTES,
        length_bytes: entry.count * SECTOR_BYTES,
        kind,
        label: String::new(),
    })
}
