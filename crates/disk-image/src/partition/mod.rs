//! Partition tables: GPT, and MBR with logical partitions.

mod gpt;
mod mbr;

use std::io;

use fstree::ReadAt;

use crate::Corrupt;

/// A partition of a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The number, as Linux counts: from 1, logical partitions of an MBR from 5.
    pub number: u32,
    /// The first byte on the disk.
    pub start_bytes: u64,
    /// The length, in bytes.
    pub length_bytes: u64,
    /// The purpose, by the partition's type.
    pub kind: PartitionKind,
    /// The label of a GPT partition; empty if it has none.
    pub label: String,
}

/// The purpose of a partition, as far as the choice of a root depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionKind {
    /// The root filesystem of this host's architecture
    /// (The Discoverable Partitions Specification, UAPI Group).
    Root,
    /// A filesystem that no system has as its root: files of the boot loader, swap, home directories.
    NotRoot,
    /// Anything else.
    Other,
}

/// The form of a partition table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// A GUID partition table (UEFI Specification 2.10, section 5.3).
    Gpt,
    /// A master boot record.
    Mbr,
}

/// The partitions of a disk, in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionTable {
    /// The form of the table.
    pub scheme: Scheme,
    /// The partitions.
    pub partitions: Vec<Partition>,
}

/// A partition table cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PartitionError {
    /// The disk cannot be read.
    #[error("cannot read the partition table")]
    Io(#[from] io::Error),
    /// The table is damaged.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
}

impl PartitionTable {
    /// Reads the partition table of a disk; `None` if it has none.
    ///
    /// # Errors
    /// A damaged table, or a disk that cannot be read.
    pub fn read(disk: &impl ReadAt) -> Result<Option<Self>, PartitionError> {
        let disk_bytes = disk.size_bytes()?;
        let Some(sector) = mbr::read(disk, disk_bytes)? else {
            return Ok(None);
        };
        // A disk with a GPT has an MBR that keeps older programs from it.
        let (scheme, partitions) = if sector.is_protective() {
            (Scheme::Gpt, gpt::read(disk, disk_bytes)?)
        } else {
            (Scheme::Mbr, sector.partitions(disk, disk_bytes)?)
        };
        let table = Self { scheme, partitions };
        Ok((!table.partitions.is_empty()).then_some(table))
    }
}
