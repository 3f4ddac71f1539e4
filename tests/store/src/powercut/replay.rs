use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use fs_err as fs;

use super::log::{Entry, Log, SECTOR_BYTES, Write};
use super::random::Random;
use test_fixtures::command::quiet;

/// The largest distance from a flush of the points near one, in entries.
const NEAR_FLUSH_ENTRIES: usize = 6;

/// The loss among the writes after the last flush in a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Loss {
    /// No write is lost: the disk stops between two writes.
    Nothing,
    /// Any of the writes may be lost.
    Some,
    /// Any of the writes may be lost, and one write keeps only its first sectors.
    Torn,
}

impl Loss {
    pub(super) const ALL: [Self; 3] = [Self::Nothing, Self::Some, Self::Torn];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "prefix",
            Self::Some => "subset",
            Self::Torn => "torn",
        }
    }
}

/// A power cut in the recording.
#[derive(Debug, Clone)]
pub(super) struct Point {
    /// Number of the point in the run.
    pub(super) number: u32,
    /// Number of the log's entries before the cut.
    pub(super) cut: usize,
    /// The loss of the writes after the last flush.
    pub(super) loss: Loss,
    random: Random,
}

impl Point {
    /// Chooses the point with this number: half of all points anywhere, a quarter near a flush, and a quarter
    /// where a command has just succeeded, so that a promise is lost if the command did not wait for the disk.
    pub(super) fn choose(entries: &[Entry], seed: u64, number: u32) -> Self {
        let mut random = Random::for_point(seed, number);
        let positions = |is_one: fn(&Entry) -> bool| -> Vec<usize> {
            let found = (0..entries.len()).filter(|&index| is_one(&entries[index]));
            found.collect()
        };
        let flushes = positions(|entry| *entry == Entry::Flush);
        let ends =
            positions(|entry| matches!(entry, Entry::Mark(mark) if mark.starts_with("end ")));
        let cut = match random.below(4) {
            2 if !flushes.is_empty() => {
                let flush = flushes[random.below(flushes.len())];
                let near = flush + random.below(2 * NEAR_FLUSH_ENTRIES + 1);
                near.saturating_sub(NEAR_FLUSH_ENTRIES).min(entries.len())
            }
            3 if !ends.is_empty() => ends[random.below(ends.len())] + 1,
            _ => random.below(entries.len() + 1),
        };
        Self {
            number,
            cut,
            loss: Loss::ALL[usize::try_from(number % 3).unwrap_or(0)],
            random,
        }
    }

    /// Returns the number of entries that the last flush before the cut has made durable.
    pub(super) fn settled(&self, entries: &[Entry]) -> usize {
        let flush = entries[..self.cut]
            .iter()
            .rposition(|entry| *entry == Entry::Flush);
        flush.map_or(0, |flush| flush + 1)
    }

    /// Returns the writes after the last flush that reach the disk.
    fn survivors(&self, entries: &[Entry]) -> Survivors {
        let loose = entries[self.settled(entries)..self.cut].iter();
        let mut writes: Vec<Write> = loose
            .filter_map(|entry| match entry {
                Entry::Write(write) => Some(*write),
                _ => None,
            })
            .collect();
        if self.loss == Loss::Nothing {
            return Survivors {
                writes,
                torn_at_bytes: None,
            };
        }
        let mut random = self.random.clone();
        let kept_percent = [0, 10, 50, 90, 100][random.below(5)];
        let torn = random.below(writes.len());
        let tears = self.loss == Loss::Torn;
        let mut torn_at_bytes = None;
        let mut index = 0;
        writes.retain_mut(|write| {
            let is_torn = tears && index == torn;
            index += 1;
            if is_torn {
                let sectors = usize::try_from(write.sectors).unwrap_or(usize::MAX);
                write.sectors = u64::try_from(random.below(sectors)).unwrap_or(0);
                torn_at_bytes = Some(write.target_bytes + write.sectors * SECTOR_BYTES);
            }
            is_torn || random.percent(kept_percent)
        });
        Survivors {
            writes,
            torn_at_bytes,
        }
    }
}

/// The writes after the last flush that reach the disk.
#[derive(Debug)]
struct Survivors {
    writes: Vec<Write>,
    /// The offset on the disk, in bytes, at which a write is torn.
    torn_at_bytes: Option<u64>,
}

/// The disk with the writes that the flushes up to some point made durable. It only goes forward.
#[derive(Debug)]
pub(super) struct Replay<'a> {
    log: &'a Log,
    settled: PathBuf,
    entries: usize,
}

impl<'a> Replay<'a> {
    /// Begins with the disk before the first entry: a copy of `base` in `work`.
    pub(super) fn begin(log: &'a Log, base: &Path, work: &Path) -> Result<Self> {
        let settled = work.join("settled.img");
        copy_sparse(base, &settled)?;
        Ok(Self {
            log,
            settled,
            entries: 0,
        })
    }

    /// Builds the disk after the cut at `image`; returns the offset of a torn write, in bytes. The
    /// point's flush must not lie before the last one's.
    pub(super) fn build(&mut self, point: &Point, image: &Path) -> Result<Option<u64>> {
        let settled = point.settled(&self.log.entries);
        self.settle(settled)?;
        remove_mounted(image)?;
        copy_sparse(&self.settled, image)?;
        let survivors = point.survivors(&self.log.entries);
        apply(self.log, image, &survivors.writes)?;
        Ok(survivors.torn_at_bytes)
    }

    /// Applies every entry before `end`, and returns the disk.
    pub(super) fn settle(&mut self, end: usize) -> Result<&Path> {
        let passed = self.log.entries[self.entries..end].iter();
        let writes: Vec<Write> = passed
            .filter_map(|entry| match entry {
                Entry::Write(write) => Some(*write),
                _ => None,
            })
            .collect();
        apply(self.log, &self.settled, &writes)?;
        self.entries = end;
        Ok(&self.settled)
    }
}

fn apply(log: &Log, image: &Path, writes: &[Write]) -> Result<()> {
    let file = fs::OpenOptions::new().write(true).open(image)?;
    for write in writes {
        let mut content = log.content(write)?;
        content.truncate(usize::try_from(write.sectors * SECTOR_BYTES)?);
        file.file().write_all_at(&content, write.target_bytes)?;
    }
    Ok(())
}

/// Removes an image if it exists, so that the next one of its name is another file. If another process has copied the
/// mount namespace meanwhile, the old image is still mounted there, and a mount of the same file would show its state.
pub(super) fn remove_mounted(image: &Path) -> Result<()> {
    if image.exists() {
        fs::remove_file(image)?;
    }
    Ok(())
}

/// Copies a file and keeps its holes.
pub(super) fn copy_sparse(from: &Path, to: &Path) -> Result<()> {
    quiet(Command::new("cp").arg("--sparse=auto").arg(from).arg(to))?;
    Ok(())
}
