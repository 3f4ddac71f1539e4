use flate2::Crc;
use fstree::ReadAt;
use zerocopy::byteorder::LE;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, U32, U64, Unaligned};

use super::{Partition, PartitionError, PartitionKind};
use crate::Corrupt;
use crate::bytes::{SECTOR_BYTES, array, read_array, read_vec, u16_le, u64_le};

/// Bytes of the header's fields.
const HEADER_BYTES: u32 = 92;
/// Bytes of an entry at least.
const ENTRY_BYTES: u32 = 128;
/// All entries at most, in bytes: 64 times those of a usual table.
const ENTRIES_MAX_BYTES: u64 = 1 << 20;
/// Bytes of a label: 36 characters of UTF-16.
const LABEL_BYTES: usize = 72;

/// The header (UEFI Specification 2.10, table 5-5).
#[derive(Debug, Clone, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    signature: [u8; 8],
    revision: U32<LE>,
    header_size: U32<LE>,
    header_crc32: U32<LE>,
    reserved: U32<LE>,
    my_lba: U64<LE>,
    alternate_lba: U64<LE>,
    first_usable_lba: U64<LE>,
    last_usable_lba: U64<LE>,
    disk_guid: [u8; 16],
    partition_entry_lba: U64<LE>,
    number_of_partition_entries: U32<LE>,
    size_of_partition_entry: U32<LE>,
    partition_entry_array_crc32: U32<LE>,
}

/// The types of root partitions, by the names that Rust has for architectures.
const ROOTS: [(&str, &str); 2] = [
    ("x86_64", "4f68bce3-e8cd-4db1-96e7-fbcaf984b709"),
    ("aarch64", "b921b045-1df0-41c3-af44-4c6f280d3fae"),
];

/// The types of partitions that hold no root.
const NOT_ROOTS: [&str; 7] = [
    // EFI system partition.
    "c12a7328-f81f-11d2-ba4b-00a0c93ec93b",
    // BIOS boot partition of GRUB.
    "21686148-6449-6e6f-744e-656564454649",
    // Extended boot loader partition: /boot.
    "bc13c2ff-59e6-4262-a352-b275fd6f7172",
    // PReP boot.
    "9e1a2d38-c612-4316-aa26-8b49521e5a8b",
    // Swap.
    "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f",
    // Home directories.
    "933ac7e1-2eb4-4f13-b844-0e14e2aef915",
    // Data of servers.
    "3b8f8425-20e0-4f3b-907f-1a25a76f98e8",
];

/// Reads the partitions of a GPT, from the copy at the end of the disk if the first one is damaged.
pub(super) fn read(disk: &impl ReadAt, disk_bytes: u64) -> Result<Vec<Partition>, PartitionError> {
    match read_at(disk, disk_bytes, SECTOR_BYTES) {
        Err(PartitionError::Corrupt(first)) => {
            let last_sector = (disk_bytes / SECTOR_BYTES).saturating_sub(1);
            let copy = read_at(disk, disk_bytes, last_sector * SECTOR_BYTES);
            // The table at the start is the one to report, not its copy.
            copy.map_err(|_| first.into())
        }
        partitions => partitions,
    }
}

fn read_at(
    disk: &impl ReadAt,
    disk_bytes: u64,
    at_bytes: u64,
) -> Result<Vec<Partition>, PartitionError> {
    let corrupt = |fault: String| Corrupt::new("GPT header", at_bytes, fault);
    let sector: Option<[u8; 512]> = read_array(disk, disk_bytes, at_bytes)?;
    let sector = sector.ok_or_else(|| corrupt("the disk ends before it".to_owned()))?;
    let header = Header::read_from_prefix(&sector);
    let (header, _) = header.map_err(|_| corrupt("it is too short".to_owned()))?;
    if &header.signature != b"EFI PART" {
        return Err(corrupt("it has no signature".to_owned()).into());
    }
    let header_size = header.header_size.get();
    let whole = usize::try_from(header_size)
        .ok()
        .and_then(|size| sector.get(..size));
    let whole = whole.filter(|_| header_size >= HEADER_BYTES);
    let whole = whole.ok_or_else(|| corrupt(format!("its size is {header_size}")))?;
    if header_checksum(whole, &header) != header.header_crc32.get() {
        return Err(corrupt("its checksum does not match".to_owned()).into());
    }
    if header.my_lba.get().checked_mul(SECTOR_BYTES) != Some(at_bytes) {
        let found = header.my_lba.get();
        return Err(corrupt(format!("it is that of sector {found}")).into());
    }
    let entry_bytes = header.size_of_partition_entry.get();
    if entry_bytes < ENTRY_BYTES {
        return Err(corrupt(format!("its entries have {entry_bytes} bytes")).into());
    }
    let count = header.number_of_partition_entries.get();
    let entries_bytes = u64::from(count) * u64::from(entry_bytes);
    if entries_bytes > ENTRIES_MAX_BYTES {
        let fault =
            format!("its entries have {entries_bytes} bytes, the limit is {ENTRIES_MAX_BYTES}");
        return Err(corrupt(fault).into());
    }
    let start_bytes = header
        .partition_entry_lba
        .get()
        .saturating_mul(SECTOR_BYTES);
    if start_bytes.saturating_add(entries_bytes) > disk_bytes {
        return Err(corrupt("its entries end beyond the disk".to_owned()).into());
    }
    let entries = read_vec(disk, start_bytes, entries_bytes)?;
    if crc32(&[&entries]) != header.partition_entry_array_crc32.get() {
        let fault = "its checksum does not match";
        return Err(Corrupt::new("GPT partition array", start_bytes, fault).into());
    }
    let entry_length = usize::try_from(entry_bytes).unwrap_or(usize::MAX);
    let numbered = (1..).zip(entries.chunks_exact(entry_length));
    let used = numbered.filter(|(_, entry)| array::<16>(entry, 0) != [0; 16]);
    used.map(|(number, entry)| partition(number, entry, disk_bytes))
        .collect()
}

/// Returns the checksum of a header, in which that field counts as zero.
fn header_checksum(whole: &[u8], header: &Header) -> u32 {
    let mut zeroed = header.clone();
    zeroed.header_crc32 = 0.into();
    let rest = whole.get(zeroed.as_bytes().len()..).unwrap_or_default();
    crc32(&[zeroed.as_bytes(), rest])
}

fn crc32(parts: &[&[u8]]) -> u32 {
    let mut crc = Crc::new();
    parts.iter().for_each(|part| crc.update(part));
    crc.sum()
}

fn partition(number: u32, entry: &[u8], disk_bytes: u64) -> Result<Partition, PartitionError> {
    let (first, last) = (u64_le(entry, 32), u64_le(entry, 40));
    let sectors = last.checked_sub(first).and_then(|more| more.checked_add(1));
    let end = last
        .checked_add(1)
        .and_then(|end| end.checked_mul(SECTOR_BYTES));
    let (Some(sectors), true) = (sectors, end.is_some_and(|end| end <= disk_bytes)) else {
        let fault = format!(
            "partition {number} has the sectors {first} to {last}, the disk has {}",
            disk_bytes / SECTOR_BYTES
        );
        return Err(Corrupt::new("GPT partition array", SECTOR_BYTES, fault).into());
    };
    Ok(Partition {
        number,
        start_bytes: first * SECTOR_BYTES,
        length_bytes: sectors * SECTOR_BYTES,
        kind: kind(&guid(&array(entry, 0))),
        label: label(&array::<LABEL_BYTES>(entry, 56)),
    })
}

fn kind(guid: &str) -> PartitionKind {
    let root = ROOTS.iter().find(|(_, root)| *root == guid);
    match root {
        Some((architecture, _)) if *architecture == std::env::consts::ARCH => PartitionKind::Root,
        // The root of another architecture: its programs would not run.
        Some(_) => PartitionKind::NotRoot,
        None if NOT_ROOTS.contains(&guid) => PartitionKind::NotRoot,
        None => PartitionKind::Other,
    }
}

/// Writes a GUID as text: its first three fields are little-endian (UEFI Specification 2.10, appendix A).
fn guid(bytes: &[u8; 16]) -> String {
    let [a, b, c, d, e, f, g, h, rest @ ..] = *bytes;
    let low = u32::from_le_bytes([a, b, c, d]);
    let (mid, high) = (u16::from_le_bytes([e, f]), u16::from_le_bytes([g, h]));
    let [clock_high, clock_low, n0, n1, n2, n3, n4, n5] = rest;
    format!(
        "{low:08x}-{mid:04x}-{high:04x}-{clock_high:02x}{clock_low:02x}-\
         {n0:02x}{n1:02x}{n2:02x}{n3:02x}{n4:02x}{n5:02x}"
    )
}

/// Returns a label: UTF-16 that ends at the first zero.
fn label(bytes: &[u8; LABEL_BYTES]) -> String {
    let units = (0..LABEL_BYTES / 2).map(|index| u16_le(bytes, 2 * index));
    let units = units.take_while(|unit| *unit != 0);
    let characters =
        char::decode_utf16(units).map(|read| read.unwrap_or(char::REPLACEMENT_CHARACTER));
    characters.collect()
}
