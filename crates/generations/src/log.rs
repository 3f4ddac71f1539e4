//! The log of a head: the blocks that it holds, appended before a flush is answered.
//!
//! A record is a pair of equal sectors, so that one damaged sector loses nothing and can be told
//! from a record that a power cut tore. `docs/formats/generations.md` describes it.

use crate::GenerationId;
use crate::block::{Run, SIZE_MAX_BYTES, blocks_of, in_memory};
use crate::block_list::{block_number, wrong_identity};
use crate::error::{Fault, OpenError, StorageError};
use crate::sealed::{Fields, damaged};
use crate::storage::StorageFile;

/// Length of a record, in bytes: two sectors.
pub(crate) const RECORD_BYTES: u64 = 1024;
const SECTOR_LENGTH: usize = 512;
const MAGIC: [u8; 4] = *b"GLOG";
/// The bytes before a sector's entries.
const HEADER_LENGTH: usize = 48;
const ENTRY_LENGTH: usize = 8;
/// Most entries of a sector.
const ENTRIES_MAX: usize = (SECTOR_LENGTH - HEADER_LENGTH) / ENTRY_LENGTH;
/// Bytes that are read at once.
const PIECE_BYTES: u64 = 1 << 20;

/// The state of blocks in a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The blocks are in the data file.
    Data,
    /// The blocks read as zeros.
    Zeros,
}

/// Changes of blocks, in the order in which they are to be applied.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) data: Vec<Run>,
    pub(crate) zeros: Vec<Run>,
}

impl Changes {
    /// Returns the number of records that the changes take.
    pub(crate) fn records(&self) -> u64 {
        let of = |runs: &[Run]| runs.len().div_ceil(ENTRIES_MAX);
        let records = of(&self.data) + of(&self.zeros);
        u64::try_from(records).expect("memory is shorter than 2^64 bytes")
    }

    /// Returns the records of one append, of which the first is record number `start` of the log.
    pub(crate) fn to_records(&self, id: GenerationId, start: u64) -> Vec<u8> {
        self.records_with(id, start, |_| start)
    }

    /// Returns the records of a whole log that is durable before it is read. Each is an append, so
    /// that a lost one is not taken for a torn one.
    pub(crate) fn to_log(&self, id: GenerationId) -> Vec<u8> {
        self.records_with(id, 0, |record| record)
    }

    fn records_with(
        &self,
        id: GenerationId,
        start: u64,
        append_start: impl Fn(u64) -> u64,
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        let data = self.data.chunks(ENTRIES_MAX).map(|runs| (Kind::Data, runs));
        let zeros = self.zeros.chunks(ENTRIES_MAX);
        let zeros = zeros.map(|runs| (Kind::Zeros, runs));
        for (record, (kind, runs)) in (start..).zip(data.chain(zeros)) {
            let sector = write_sector(id, [record, append_start(record)], kind, runs);
            bytes.extend_from_slice(&sector);
            bytes.extend_from_slice(&sector);
        }
        bytes
    }
}

fn write_sector(id: GenerationId, numbers: [u64; 2], kind: Kind, runs: &[Run]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&id.to_bytes());
    for number in numbers {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&kind_number(kind).to_le_bytes());
    let count = u32::try_from(runs.len()).expect("at most 58 entries");
    bytes.extend_from_slice(&count.to_le_bytes());
    for run in runs {
        bytes.extend_from_slice(&block_number(run.first).to_le_bytes());
        bytes.extend_from_slice(&block_number(run.count - 1).to_le_bytes());
    }
    bytes.resize(SECTOR_LENGTH, 0);
    let checksum = checksum(&bytes);
    bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Returns the CRC-32C of a sector whose own field counts as zero.
fn checksum(sector: &[u8]) -> u32 {
    let start = crc32c::crc32c(&MAGIC);
    let after = crc32c::crc32c_append(start, &[0; 4]);
    crc32c::crc32c_append(after, sector.get(8..).unwrap_or_default())
}

const fn kind_number(kind: Kind) -> u32 {
    match kind {
        Kind::Data => 1,
        Kind::Zeros => 2,
    }
}

/// A sector whose checksum matches.
#[derive(Debug)]
struct Sector {
    /// The record at which the append that wrote this one began.
    append_start: u64,
    kind: Kind,
    runs: Vec<Run>,
}

impl Sector {
    /// Reads a sector; `None` if it is not intact.
    fn read(sector: &[u8], id: GenerationId, record: u64) -> Result<Option<Self>, Fault> {
        let mut fields = Fields::new(sector);
        if fields.array()? != MAGIC || fields.u32()? != checksum(sector) {
            return Ok(None);
        }
        match fields.id(GenerationId::from_bytes)? {
            Some(found) if found == id => {}
            found => return Err(wrong_identity(found)),
        }
        let found = fields.u64()?;
        let append_start = fields.u64()?;
        if found != record || append_start > record {
            return Err(field("record", found));
        }
        let kind = match fields.u32()? {
            1 => Kind::Data,
            2 => Kind::Zeros,
            other => return Err(field("kind", other.into())),
        };
        let count = fields.u32()?;
        if usize::try_from(count).is_ok_and(|count| count > ENTRIES_MAX) {
            return Err(field("count", count.into()));
        }
        let mut runs = Vec::new();
        for _ in 0..count {
            let (first, more): (u32, u32) = (fields.u32()?, fields.u32()?);
            let run = Run::new(first.into(), u64::from(more) + 1);
            if run.end() > blocks_of(SIZE_MAX_BYTES) {
                return Err(Fault::Block { block: run.first });
            }
            runs.push(run);
        }
        Ok(Some(Self {
            append_start,
            kind,
            runs,
        }))
    }
}

fn field(name: &'static str, value: u64) -> Fault {
    Fault::Field { name, value }
}

/// The result of reading a log.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    /// The number of records that count.
    pub(crate) records: u64,
    /// True if the file has anything else than two intact sectors for each record: a torn append,
    /// or a damaged sector whose twin is intact.
    pub(crate) has_damage: bool,
}

/// Reads a log, and calls `apply` for the blocks of each record, in order.
pub(crate) fn scan<F: StorageFile>(
    file: &F,
    name: &str,
    id: GenerationId,
    mut apply: impl FnMut(Kind, Run) -> Result<(), Fault>,
) -> Result<Scan, OpenError> {
    let size_bytes = file.size_bytes().map_err(StorageError::of("read", name))?;
    let mut scan = Scan::default();
    let mut end: Option<u64> = None;
    let mut offset_bytes = 0;
    while offset_bytes < size_bytes {
        let length = in_memory(PIECE_BYTES.min(size_bytes - offset_bytes));
        let mut piece = vec![0; length];
        let read = file.read_exact_at(&mut piece, offset_bytes);
        read.map_err(StorageError::of("read", name))?;
        // A record that a power cut shortened counts as one whose end is zero.
        piece.resize(length.next_multiple_of(2 * SECTOR_LENGTH), 0);
        scan.has_damage |= piece.len() != length;
        let first = offset_bytes / RECORD_BYTES;
        for (pair, record) in piece.chunks_exact(2 * SECTOR_LENGTH).zip(first..) {
            let faults = |fault| damaged(name)(fault);
            let (sector, is_whole) = read_record(pair, id, record).map_err(faults)?;
            scan.has_damage |= !is_whole;
            match (sector, end) {
                (Some(sector), None) => {
                    scan.records = record + 1;
                    for run in sector.runs {
                        apply(sector.kind, run).map_err(faults)?;
                    }
                }
                (None, None) => end = Some(record),
                // This append began before the damaged record was durable, so it was never
                // answered, and the power was cut during it.
                (Some(sector), Some(end)) if sector.append_start <= end => {}
                (Some(_), Some(end)) => {
                    let offset_bytes = end * RECORD_BYTES;
                    return Err(faults(Fault::Record { offset_bytes }).into());
                }
                (None, Some(_)) => {}
            }
        }
        offset_bytes += PIECE_BYTES;
    }
    Ok(scan)
}

/// Returns the first intact sector of a record, and true if both are intact and equal.
fn read_record(
    pair: &[u8],
    id: GenerationId,
    record: u64,
) -> Result<(Option<Sector>, bool), Fault> {
    let (first, second) = pair.split_at(SECTOR_LENGTH);
    let is_whole = first == second;
    if let Some(sector) = Sector::read(first, id, record)? {
        return Ok((Some(sector), is_whole));
    }
    Ok((Sector::read(second, id, record)?, false))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    impl StorageFile for Vec<u8> {
        fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
            fstree::ReadAt::read_exact_at(self, buf, offset_bytes)
        }

        fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn size_bytes(&self) -> io::Result<u64> {
            fstree::ReadAt::size_bytes(self)
        }

        fn set_size(&self, _: u64) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }

        fn punch(&self, _: u64, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn next_data(&self, offset_bytes: u64) -> io::Result<u64> {
            Ok(offset_bytes)
        }
    }

    fn id() -> GenerationId {
        GenerationId::from_bytes([7; 16]).expect("not zero")
    }

    /// Returns a log of three appends, of 1, 4 and 1 records.
    fn three_appends() -> Vec<u8> {
        let single = |first| Changes {
            data: vec![Run::new(first, 1)],
            zeros: Vec::new(),
        };
        let large = Changes {
            data: (0..116).map(|index| Run::new(100 + 2 * index, 1)).collect(),
            zeros: (0..59).map(|index| Run::new(1000 + 2 * index, 1)).collect(),
        };
        assert_eq!(large.records(), 4);
        let mut log = single(7).to_records(id(), 0);
        log.extend(large.to_records(id(), 1));
        log.extend(single(9).to_records(id(), 5));
        log
    }

    fn read(log: &Vec<u8>) -> Result<(Scan, usize), OpenError> {
        let mut runs = 0;
        let scan = scan(log, "log", id(), |_, _| {
            runs += 1;
            Ok(())
        })?;
        Ok((scan, runs))
    }

    #[test]
    fn a_log_is_read_back() {
        let (scan, runs) = read(&three_appends()).expect("intact");
        assert_eq!((scan.records, scan.has_damage, runs), (6, false, 177));
        assert_eq!(read(&Vec::new()).expect("empty").0, Scan::default());
    }

    #[test]
    fn a_flipped_bit_loses_nothing_and_is_seen() {
        let log = three_appends();
        for byte in 0..log.len() {
            let mut damaged = log.clone();
            damaged[byte] ^= 1 << (byte % 8);
            let (scan, runs) = read(&damaged).expect("the twin is intact");
            assert_eq!((scan.records, scan.has_damage, runs), (6, true, 177));
        }
    }

    #[test]
    fn a_record_is_lost_only_in_the_last_append() {
        let log = three_appends();
        for (record, is_last) in [(0, false), (1, false), (4, false), (5, true)] {
            let mut damaged = log.clone();
            damaged[record * 1024..record * 1024 + 1024].fill(0);
            match read(&damaged) {
                Ok((scan, _)) => {
                    assert!(is_last && scan.has_damage);
                    assert_eq!(scan.records, 5);
                }
                Err(error) => {
                    assert!(!is_last);
                    let named = format!("log is damaged: its record at byte {} ", record * 1024);
                    assert!(error.to_string().starts_with(&named), "{error}");
                }
            }
        }
    }

    #[test]
    fn a_torn_append_of_several_records_ends_the_log() {
        let mut log = three_appends();
        log.truncate(5 * 1024 - 100);
        log[2 * 1024..3 * 1024].fill(0);
        let (scan, runs) = read(&log).expect("torn, not damaged");
        assert_eq!((scan.records, scan.has_damage, runs), (2, true, 59));
    }

    #[test]
    fn the_log_of_another_generation_is_refused() {
        let other = GenerationId::from_bytes([8; 16]).expect("not zero");
        let error = scan(&three_appends(), "log", other, |_, _| Ok(())).expect_err("refused");
        assert!(
            error.to_string().contains("it belongs to generation 0707"),
            "{error}"
        );
    }
}
