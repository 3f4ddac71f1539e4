//! The recording of a disk's writes, as QEMU's `blklogwrites` makes it: the format of
//! `dm-log-writes` (Documentation/admin-guide/device-mapper/log-writes.rst in the kernel's source).
//!
//! ```text
//! sector 0          magic, version, number of entries, sector size
//! then, each        a sector with the entry: first sector, sectors, flags, length of its text
//!                   its data
//! ```

use std::os::unix::fs::FileExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use fs_err::File;

/// The size of a sector of the disk and of its log, in bytes.
pub(super) const SECTOR_BYTES: u64 = 512;

const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;

const FLUSH_FLAG: u64 = 1;
const DISCARD_FLAG: u64 = 4;

/// The prefix of every mark, which the guest writes behind the filesystem.
const MARK_PREFIX: &str = "msb-mark ";

/// An event on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// A flush: every write before it is durable.
    Flush,
    /// A mark: the guest reports an event.
    Mark(String),
    /// A write of sectors.
    Write(Write),
}

/// A write of sectors, and the position of their content in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Write {
    /// Offset on the disk, in bytes.
    pub(super) target_bytes: u64,
    /// Offset in the log, in bytes.
    pub(super) source_bytes: u64,
    /// Length, in sectors.
    pub(super) sectors: u64,
}

/// All events on a disk, in their order.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    /// The events in the order of the log.
    pub(super) entries: Vec<Entry>,
}

impl Log {
    /// Reads the log of a disk whose filesystem ends at `filesystem_bytes`.
    ///
    /// # Errors
    /// If it is not a log, or has entries that a filesystem without discards does not make.
    pub(super) fn open(path: &Path, filesystem_bytes: u64) -> Result<Self> {
        let mut log = Self {
            file: File::open(path)?,
            entries: Vec::new(),
        };
        let [magic, version, entries, sector] = log.words(0)?;
        ensure!(
            magic == MAGIC && version == VERSION && sector & u64::from(u32::MAX) == SECTOR_BYTES,
            "{} is no log of writes",
            path.display()
        );
        let mut at_bytes = SECTOR_BYTES;
        for _ in 0..entries {
            let [first, sectors, flags, _] = log.words(at_bytes)?;
            ensure!(flags & DISCARD_FLAG == 0, "sectors were discarded");
            let write = Write {
                target_bytes: first * SECTOR_BYTES,
                source_bytes: at_bytes + SECTOR_BYTES,
                sectors,
            };
            at_bytes = write.source_bytes + sectors * SECTOR_BYTES;
            log.add(write, flags, filesystem_bytes)?;
        }
        Ok(log)
    }

    fn add(&mut self, write: Write, flags: u64, filesystem_bytes: u64) -> Result<()> {
        if flags & FLUSH_FLAG != 0 {
            self.entries.push(Entry::Flush);
        }
        if write.sectors == 0 {
            return Ok(());
        }
        if write.target_bytes < filesystem_bytes {
            self.entries.push(Entry::Write(write));
            return Ok(());
        }
        let text = String::from_utf8(self.content(&write)?).context("a mark is no text")?;
        let mark = text.strip_prefix(MARK_PREFIX).context("not a mark")?;
        self.entries.push(Entry::Mark(mark.trim_end().to_owned()));
        Ok(())
    }

    /// Returns the content of the written sectors.
    pub(super) fn content(&self, write: &Write) -> Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(write.sectors * SECTOR_BYTES)?];
        self.file
            .file()
            .read_exact_at(&mut bytes, write.source_bytes)?;
        Ok(bytes)
    }

    /// Reads four little-endian words. The superblock's second and third are one of 64 bits each,
    /// its fourth has 32.
    fn words(&self, at_bytes: u64) -> Result<[u64; 4]> {
        let mut bytes = [0; 32];
        self.file
            .file()
            .read_exact_at(&mut bytes, at_bytes)
            .context("the log is cut")?;
        let (words, _) = bytes.as_chunks::<8>();
        Ok(std::array::from_fn(|index| {
            u64::from_le_bytes(words[index])
        }))
    }
}
