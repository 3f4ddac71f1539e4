//! qcow2 (docs/interop/qcow2.txt of QEMU): two levels of tables that lead to clusters.

mod entry;
mod header;

use std::io;
use std::sync::Arc;

use fstree::ReadAt;

use self::entry::{Cluster, Entry};
use self::header::{Compression, Header};
use crate::bytes::{array, length_of, read_padded, read_vec};
use crate::cache::Cache;
use crate::inflate::{inflate, unzstd};
use crate::tables::{check_distinct, copy_part, for_each_piece, read_table};
use crate::{Corrupt, OpenError};

/// Bytes of an entry of a table.
const ENTRY_BYTES: u64 = 8;

/// A disk in a qcow2. Snapshots in the file are not looked at.
#[derive(Debug)]
pub(crate) struct Qcow2<R> {
    file: R,
    file_bytes: u64,
    header: Header,
    /// The first table, as far as the disk needs it.
    l1: Vec<u8>,
    l2_tables: Cache,
    decompressed: Cache,
}

impl<R: ReadAt> Qcow2<R> {
    pub(crate) fn open(file: R, file_bytes: u64) -> Result<Self, OpenError> {
        let header = Header::read(&file, file_bytes)?;
        let cluster_bytes = 1 << header.cluster_bits;
        let covered_bytes = cluster_bytes * (cluster_bytes / ENTRY_BYTES);
        let needed = header.size_bytes.div_ceil(covered_bytes);
        if needed > u64::from(header.l1_entries) {
            let fault = format!(
                "it has {} entries, the disk needs {needed}",
                header.l1_entries
            );
            return Err(Corrupt::new("L1 table", header.l1_offset_bytes, fault).into());
        }
        let l1 = read_table(
            &file,
            file_bytes,
            "L1 table",
            header.l1_offset_bytes,
            needed.saturating_mul(ENTRY_BYTES),
        )?;
        Ok(Self {
            file,
            file_bytes,
            header,
            l1,
            l2_tables: Cache::new(cluster_bytes),
            decompressed: Cache::new(cluster_bytes),
        })
    }

    pub(crate) const fn size_bytes(&self) -> u64 {
        self.header.size_bytes
    }

    /// Fills `buf` with a part of the disk, which the caller has bounded.
    pub(crate) fn read(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        for_each_piece(
            buf,
            offset_bytes,
            self.cluster_bytes(),
            |index, within, part| {
                match self.cluster(index)? {
                    Cluster::Zeros => part.fill(0),
                    Cluster::Stored { offset_bytes } => {
                        read_padded(&self.file, self.file_bytes, part, offset_bytes + within)?;
                    }
                    Cluster::Compressed {
                        offset_bytes,
                        length_bytes,
                    } => {
                        let cluster = self.decompressed(offset_bytes, length_bytes)?;
                        copy_part(&cluster, within, part)?;
                    }
                }
                Ok(())
            },
        )
    }

    /// Reads all tables. A table that two entries name is damage: no disk has one, and reading it for each
    /// of them would take time without a bound.
    pub(crate) fn check(&self) -> io::Result<()> {
        let mut tables = Vec::new();
        for index in 0..length_of(&self.l1) / ENTRY_BYTES {
            let entry = self.l1_entry(index);
            tables.extend(entry.l2_table(&self.header, self.file_bytes)?);
        }
        check_distinct(&mut tables, "L1 table", self.header.l1_offset_bytes)?;
        for offset_bytes in tables {
            let table = read_vec(&self.file, offset_bytes, self.cluster_bytes())?;
            for index in 0..self.cluster_bytes() / ENTRY_BYTES {
                let entry = entry_of(&table, offset_bytes, index);
                entry.cluster(&self.header, self.file_bytes)?;
            }
        }
        Ok(())
    }

    const fn cluster_bytes(&self) -> u64 {
        1 << self.header.cluster_bits
    }

    fn l1_entry(&self, index: u64) -> Entry {
        entry_of(&self.l1, self.header.l1_offset_bytes, index)
    }

    fn cluster(&self, index: u64) -> io::Result<Cluster> {
        let entries = self.cluster_bytes() / ENTRY_BYTES;
        let l1_entry = self.l1_entry(index / entries);
        let Some(offset_bytes) = l1_entry.l2_table(&self.header, self.file_bytes)? else {
            return Ok(Cluster::Zeros);
        };
        let table = self.l2_tables.get(offset_bytes, || {
            read_vec(&self.file, offset_bytes, self.cluster_bytes())
        })?;
        let entry = entry_of(&table, offset_bytes, index % entries);
        Ok(entry.cluster(&self.header, self.file_bytes)?)
    }

    fn decompressed(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<Arc<[u8]>> {
        self.decompressed.get(offset_bytes, || {
            let input = read_vec(&self.file, offset_bytes, length_bytes)?;
            let mut cluster = vec![0; crate::bytes::in_memory(self.cluster_bytes())?];
            let decompressed = match self.header.compression {
                Compression::Deflate => inflate(&input, &mut cluster, false),
                Compression::Zstd => unzstd(&input, &mut cluster),
            };
            decompressed.map_err(|error| {
                Corrupt::new("compressed cluster", offset_bytes, error.to_string())
            })?;
            Ok(cluster)
        })
    }
}

/// Returns an entry of a table that begins at `table_bytes` of the file; an empty one behind its end.
fn entry_of(table: &[u8], table_bytes: u64, index: u64) -> Entry {
    let at = index.saturating_mul(ENTRY_BYTES);
    let value = usize::try_from(at).map_or(0, |at| u64::from_be_bytes(array(table, at)));
    Entry {
        value,
        at_bytes: table_bytes.saturating_add(at),
    }
}
