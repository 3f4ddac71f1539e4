//! Hosted sparse extents of VMDK ("Virtual Disk Format 5.0", VMware): a directory of tables that lead to
//! grains, in one file.

mod header;

use std::io;
use std::sync::Arc;

use fstree::ReadAt;

use self::header::Header;
use crate::bytes::{SECTOR_BYTES, length_of, read_array, read_padded, read_vec, u32_le, u64_le};
use crate::cache::Cache;
use crate::inflate::inflate;
use crate::tables::{SIZE_MAX_BYTES, check_distinct, copy_part, for_each_piece, read_table};
use crate::{Corrupt, OpenError, Unsupported};

/// Bytes of an entry of the grain directory and of a grain table.
const ENTRY_BYTES: u64 = 4;
/// The entry of a grain of zeros, if the header says so.
const ZEROED: u32 = 1;
/// Bytes before a compressed grain: its first sector, and its length.
const MARKER_BYTES: u64 = 12;

/// A disk in a VMDK that is one file.
#[derive(Debug)]
pub(crate) struct SparseVmdk<R> {
    file: R,
    file_bytes: u64,
    header: Header,
    directory: Vec<u8>,
    tables: Cache,
    decompressed: Cache,
}

/// The content of a grain.
enum Grain {
    Zeros,
    /// The grain begins at this offset of the file.
    At(u64),
}

impl<R: ReadAt> SparseVmdk<R> {
    pub(crate) fn open(file: R, file_bytes: u64) -> Result<Self, OpenError> {
        let header = Header::read(&file, file_bytes)?;
        if header.capacity_sectors > SIZE_MAX_BYTES / SECTOR_BYTES {
            return Err(Unsupported::TooLarge {
                size_bytes: header.capacity_sectors.saturating_mul(SECTOR_BYTES),
                limit_bytes: SIZE_MAX_BYTES,
            }
            .into());
        }
        let covered_sectors = header.grain_sectors * header.table_entries;
        let tables = header.capacity_sectors.div_ceil(covered_sectors);
        let directory = read_table(
            &file,
            file_bytes,
            "grain directory",
            header.directory_bytes,
            tables * ENTRY_BYTES,
        )?;
        Ok(Self {
            file,
            file_bytes,
            header,
            directory,
            tables: Cache::new(header.table_entries * ENTRY_BYTES),
            decompressed: Cache::new(header.grain_sectors * SECTOR_BYTES),
        })
    }

    pub(crate) const fn size_bytes(&self) -> u64 {
        self.header.capacity_sectors * SECTOR_BYTES
    }

    /// Fills `buf` with a part of the disk, which the caller has bounded.
    pub(crate) fn read(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        for_each_piece(
            buf,
            offset_bytes,
            self.grain_bytes(),
            |index, within, part| {
                match self.grain(index)? {
                    Grain::Zeros => part.fill(0),
                    Grain::At(offset_bytes) if self.header.is_compressed => {
                        copy_part(&self.decompressed(index, offset_bytes)?, within, part)?;
                    }
                    Grain::At(offset_bytes) => {
                        read_padded(&self.file, self.file_bytes, part, offset_bytes + within)?;
                    }
                }
                Ok(())
            },
        )
    }

    /// Reads all tables. A table that two entries name is damage: reading it for each of them would take
    /// time without a bound.
    pub(crate) fn check(&self) -> io::Result<()> {
        let mut tables = Vec::new();
        for index in 0..length_of(&self.directory) / ENTRY_BYTES {
            tables.extend(self.table(index)?);
        }
        check_distinct(&mut tables, "grain directory", self.header.directory_bytes)?;
        for table_bytes in tables {
            let table = self.read_grain_table(table_bytes)?;
            for index in 0..self.header.table_entries {
                self.grain_of(&table, table_bytes, index)?;
            }
        }
        Ok(())
    }

    const fn grain_bytes(&self) -> u64 {
        self.header.grain_sectors * SECTOR_BYTES
    }

    /// Returns the offset of a grain table; `None` if all its grains are zeros.
    fn table(&self, index: u64) -> io::Result<Option<u64>> {
        let at = crate::bytes::in_memory(index * ENTRY_BYTES)?;
        let table_bytes = u64::from(u32_le(&self.directory, at)) * SECTOR_BYTES;
        if table_bytes == 0 {
            return Ok(None);
        }
        if table_bytes + self.header.table_entries * ENTRY_BYTES > self.file_bytes {
            return Err(self.directory_entry(index, self.beyond(table_bytes)).into());
        }
        Ok(Some(table_bytes))
    }

    fn directory_entry(&self, index: u64, fault: String) -> Corrupt {
        let at_bytes = self.header.directory_bytes + index * ENTRY_BYTES;
        Corrupt::new("entry of the grain directory", at_bytes, fault)
    }

    fn read_grain_table(&self, table_bytes: u64) -> io::Result<Vec<u8>> {
        let length = self.header.table_entries * ENTRY_BYTES;
        read_vec(&self.file, table_bytes, length)
    }

    fn grain(&self, index: u64) -> io::Result<Grain> {
        let Some(table_bytes) = self.table(index / self.header.table_entries)? else {
            return Ok(Grain::Zeros);
        };
        let read = || self.read_grain_table(table_bytes);
        let table = self.tables.get(table_bytes, read)?;
        Ok(self.grain_of(&table, table_bytes, index % self.header.table_entries)?)
    }

    fn grain_of(&self, table: &[u8], table_bytes: u64, index: u64) -> Result<Grain, Corrupt> {
        let at = index * ENTRY_BYTES;
        let sector = usize::try_from(at).map_or(0, |at| u32_le(table, at));
        if sector == 0 || (sector == ZEROED && self.header.has_zeroed_grains) {
            return Ok(Grain::Zeros);
        }
        let offset_bytes = u64::from(sector) * SECTOR_BYTES;
        if offset_bytes >= self.file_bytes {
            let structure = "entry of a grain table";
            let fault = self.beyond(offset_bytes);
            return Err(Corrupt::new(structure, table_bytes + at, fault));
        }
        Ok(Grain::At(offset_bytes))
    }

    fn decompressed(&self, index: u64, offset_bytes: u64) -> io::Result<Arc<[u8]>> {
        self.decompressed.get(offset_bytes, || {
            let corrupt = |fault: String| Corrupt::new("compressed grain", offset_bytes, fault);
            let marker: Option<[u8; 12]> = read_array(&self.file, self.file_bytes, offset_bytes)?;
            let marker = marker.ok_or_else(|| corrupt(self.beyond(offset_bytes)))?;
            let (first_sector, length) = (u64_le(&marker, 0), u64::from(u32_le(&marker, 8)));
            if first_sector != index * self.header.grain_sectors {
                return Err(corrupt(format!("it is that of sector {first_sector}")).into());
            }
            // Content that deflate makes longer grows by a few bytes only.
            if length > 2 * self.grain_bytes() {
                return Err(corrupt(format!("it has {length} bytes")).into());
            }
            let data_bytes = offset_bytes + MARKER_BYTES;
            if data_bytes + length > self.file_bytes {
                return Err(corrupt(self.beyond(data_bytes + length)).into());
            }
            let input = read_vec(&self.file, data_bytes, length)?;
            let mut grain = vec![0; crate::bytes::in_memory(self.grain_bytes())?];
            let inflated = inflate(&input, &mut grain, true);
            inflated.map_err(|error| corrupt(error.to_string()))?;
            Ok(grain)
        })
    }

    fn beyond(&self, offset_bytes: u64) -> String {
        let file_bytes = self.file_bytes;
        format!("it names byte {offset_bytes}, and the file ends at {file_bytes}")
    }
}
