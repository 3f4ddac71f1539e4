use std::fmt;
use std::io;

use fstree::ReadAt;

use crate::bytes::{SECTOR_BYTES, length_of};
use crate::error::shown;
use crate::filesystem::{ProbeError, probe};
use crate::partition::{Partition, PartitionError, PartitionKind, PartitionTable};
use crate::{DiskImage, Filesystem, UnusableFilesystem};

/// A choice of the root filesystem among those of a disk, as far as it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RootChoice {
    /// The number of its partition; `None` to find it out.
    pub partition: Option<u32>,
    /// The filesystem that it has; `None` to find it out.
    pub filesystem: Option<Filesystem>,
}

/// The root filesystem of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root {
    /// The first byte on the disk.
    pub start_bytes: u64,
    /// The length in bytes, a multiple of 512.
    pub length_bytes: u64,
    /// The number of the partition; `None` if the disk has no partition table.
    pub partition: Option<u32>,
    /// The filesystem.
    pub filesystem: Filesystem,
}

/// The root filesystem of a disk cannot be found or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// The disk cannot be read.
    #[error("cannot read it")]
    Io(#[from] io::Error),
    /// The partition table cannot be read.
    #[error(transparent)]
    Table(#[from] PartitionError),
    /// A partition was named, and the disk has none.
    #[error("it has no partition {number}: it has no partition table")]
    NoTable {
        /// The number that was named.
        number: u32,
    },
    /// The disk has no partition of the number.
    #[error("it has no partition {number}; it has {}", list(.candidates))]
    NoPartition {
        /// The number that was named.
        number: u32,
        /// All partitions.
        candidates: Vec<Candidate>,
    },
    /// No partition can be the root.
    #[error("none of its partitions can be the root: {}", list(.candidates))]
    NoRoot {
        /// All partitions.
        candidates: Vec<Candidate>,
    },
    /// Several partitions can be the root.
    #[error("several of its partitions can be the root: {}", list(.candidates))]
    Ambiguous {
        /// The partitions that can be the root.
        candidates: Vec<Candidate>,
    },
    /// The disk, or the partition, has no filesystem that is known.
    #[error("{} has neither a partition table nor a known filesystem", place(*.partition))]
    NoFilesystem {
        /// The number of the partition; `None` for the whole disk.
        partition: Option<u32>,
    },
    /// The content cannot be a root.
    #[error("{}{unusable}", prefix(*.partition))]
    Unusable {
        /// The number of the partition; `None` for the whole disk.
        partition: Option<u32>,
        /// The content.
        unusable: UnusableFilesystem,
    },
    /// The filesystem is another one than was said.
    #[error("{} has {found}, not {wanted}", place(*.partition))]
    OtherFilesystem {
        /// The number of the partition; `None` for the whole disk.
        partition: Option<u32>,
        /// The filesystem that was said.
        wanted: Filesystem,
        /// The filesystem that is there.
        found: Filesystem,
    },
}

/// A partition, and the filesystem in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The partition.
    pub partition: Partition,
    /// Its filesystem, the reason why it cannot be a root, or `None` if no superblock is known.
    pub content: Result<Option<Filesystem>, UnusableFilesystem>,
}

impl fmt::Display for Candidate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Partition {
            number,
            length_bytes,
            label,
            ..
        } = &self.partition;
        let mebibytes = length_bytes >> 20;
        write!(formatter, "{number} ({mebibytes} MiB")?;
        if !label.is_empty() {
            write!(formatter, ", '{}'", shown(label.as_bytes()))?;
        }
        match &self.content {
            Ok(Some(filesystem)) => write!(formatter, ", {filesystem})"),
            Ok(None) => formatter.write_str(", no known filesystem)"),
            Err(unusable) => write!(formatter, ", {unusable})"),
        }
    }
}

/// Finds the root filesystem of a disk: the disk as a whole if it has no partition table; otherwise the
/// partition whose type is that of a root, or the only one that can be one.
///
/// # Errors
/// No or several partitions that can be the root, content that cannot be, another filesystem than was
/// said, a damaged partition table.
pub fn find_root<R: ReadAt>(disk: &DiskImage<R>, choice: RootChoice) -> Result<Root, RootError> {
    let Some(table) = PartitionTable::read(disk)? else {
        return match choice.partition {
            Some(number) => Err(RootError::NoTable { number }),
            None => whole_disk(disk, choice.filesystem),
        };
    };
    let mut candidates = table
        .partitions
        .into_iter()
        .map(|partition| candidate(disk, partition))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(number) = choice.partition {
        let found = candidates
            .iter()
            .position(|each| each.partition.number == number);
        return match found {
            Some(index) => usable(candidates.swap_remove(index), choice.filesystem),
            None => Err(RootError::NoPartition { number, candidates }),
        };
    }
    choose(candidates, choice.filesystem)
}

fn whole_disk<R: ReadAt>(
    disk: &DiskImage<R>,
    wanted: Option<Filesystem>,
) -> Result<Root, RootError> {
    let length_bytes = disk.size_bytes() / SECTOR_BYTES * SECTOR_BYTES;
    let content = content(&Part {
        disk,
        start_bytes: 0,
        length_bytes,
    })?;
    Ok(Root {
        start_bytes: 0,
        length_bytes,
        partition: None,
        filesystem: filesystem(None, content, wanted)?,
    })
}

fn candidate<R: ReadAt>(disk: &DiskImage<R>, partition: Partition) -> io::Result<Candidate> {
    let content = content(&Part {
        disk,
        start_bytes: partition.start_bytes,
        length_bytes: partition.length_bytes,
    })?;
    Ok(Candidate { partition, content })
}

/// Chooses the root among all partitions.
fn choose(candidates: Vec<Candidate>, wanted: Option<Filesystem>) -> Result<Root, RootError> {
    let may_be = |each: &&Candidate| match &each.content {
        _ if each.partition.kind == PartitionKind::NotRoot => false,
        Ok(found) => found.is_some_and(|found| wanted.is_none_or(|wanted| wanted == found)),
        // A root that has to be unmounted first is refused by its own name.
        Err(unusable) => unusable.filesystem.is_some(),
    };
    let fit: Vec<&Candidate> = candidates.iter().filter(may_be).collect();
    let roots: Vec<&Candidate> = fit
        .iter()
        .copied()
        .filter(|each| each.partition.kind == PartitionKind::Root)
        .collect();
    match (&roots[..], &fit[..]) {
        ([only], _) | ([], [only]) => usable((*only).clone(), wanted),
        (_, []) => Err(RootError::NoRoot { candidates }),
        _ => Err(RootError::Ambiguous {
            candidates: fit.into_iter().cloned().collect(),
        }),
    }
}

fn usable(candidate: Candidate, wanted: Option<Filesystem>) -> Result<Root, RootError> {
    let Candidate { partition, content } = candidate;
    let number = Some(partition.number);
    Ok(Root {
        start_bytes: partition.start_bytes,
        length_bytes: partition.length_bytes,
        partition: number,
        filesystem: filesystem(number, content, wanted)?,
    })
}

fn filesystem(
    partition: Option<u32>,
    content: Result<Option<Filesystem>, UnusableFilesystem>,
    wanted: Option<Filesystem>,
) -> Result<Filesystem, RootError> {
    let found = content.map_err(|unusable| RootError::Unusable {
        partition,
        unusable,
    })?;
    let found = found.ok_or(RootError::NoFilesystem { partition })?;
    match wanted {
        Some(wanted) if wanted != found => Err(RootError::OtherFilesystem {
            partition,
            wanted,
            found,
        }),
        _ => Ok(found),
    }
}

fn content<R: ReadAt>(
    part: &Part<'_, R>,
) -> io::Result<Result<Option<Filesystem>, UnusableFilesystem>> {
    match probe(part) {
        Ok(found) => Ok(Ok(found)),
        Err(ProbeError::Unusable(unusable)) => Ok(Err(unusable)),
        Err(ProbeError::Io(error)) => Err(error),
    }
}

/// A part of a disk.
struct Part<'a, R> {
    disk: &'a DiskImage<R>,
    start_bytes: u64,
    length_bytes: u64,
}

impl<R: ReadAt> ReadAt for Part<'_, R> {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let end = offset_bytes.checked_add(length_of(buf));
        let start = offset_bytes.checked_add(self.start_bytes);
        match start {
            Some(start) if end.is_some_and(|end| end <= self.length_bytes) => {
                self.disk.read_exact_at(buf, start)
            }
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.length_bytes)
    }
}

fn list(candidates: &[Candidate]) -> String {
    let names: Vec<String> = candidates.iter().map(ToString::to_string).collect();
    names.join(", ")
}

fn prefix(partition: Option<u32>) -> String {
    partition.map_or_else(String::new, |number| format!("partition {number}: "))
}

fn place(partition: Option<u32>) -> String {
    partition.map_or_else(
        || "the disk".to_owned(),
        |number| format!("partition {number}"),
    )
}
