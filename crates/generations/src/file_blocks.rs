use std::io;
use std::path::Path;

use artifact_file::ArtifactFile;
use fstree::ReadAt;

use crate::block::{BLOCK_BYTES, Run, SIZE_MAX_BYTES, blocks_of, in_memory, length_of};
use crate::block_file::BlockFile;
use crate::block_list::block_number;
use crate::error::{BaseError, Fault};
use crate::sealed::{Fields, write_path};

/// The magic of blocks of files, with the version of the format.
pub(crate) const MAGIC: [u8; 8] = *b"GENBMAP1";
/// Most files of a base: their numbers have 16 bits.
const FILES_MAX: usize = 65_535;

/// Blocks of a disk that lie in files outside of the pool, which never change as long as they exist: those
/// of a store that names files by their content. A file is refused if its length differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileBlocks {
    /// The size of the disk, in bytes.
    pub length_bytes: u64,
    /// The files, at most 65,535.
    pub files: Vec<BlockFile>,
    /// The runs, in ascending order and without overlaps.
    pub runs: Vec<FileRun>,
}

/// Consecutive blocks of a disk that are consecutive in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRun {
    /// The first block on the disk.
    pub first_block: u64,
    /// The number of blocks, at least 1.
    pub count: u64,
    /// The index of the file.
    pub file: u16,
    /// The first block in the file.
    pub file_block: u64,
}

impl FileRun {
    const fn disk(&self) -> Run {
        Run::new(self.first_block, self.count)
    }
}

impl FileBlocks {
    /// Opens the files and checks their lengths.
    pub(crate) fn open(&self, directory: &Path) -> Result<FileBlocksDisk, BaseError> {
        if let Err(block) = self.check() {
            return Err(BaseError::Runs { block });
        }
        let files = self.files.iter().map(|file| file.open(directory));
        Ok(FileBlocksDisk {
            files: files.collect::<Result<_, _>>()?,
            runs: self.runs.clone(),
            length_bytes: self.length_bytes,
        })
    }

    /// Returns the parts of runs that consecutive blocks of the disk are, in their order; `None` if a block is in
    /// no run.
    pub(crate) fn parts(&self, blocks: Run) -> Option<Vec<FileRun>> {
        let mut at = blocks.first;
        let next = self.runs.partition_point(|run| run.disk().end() <= at);
        let mut parts = Vec::new();
        for run in self.runs.iter().skip(next) {
            let skipped = at.checked_sub(run.first_block);
            let skipped = skipped.filter(|_| at < blocks.end());
            let Some(skipped) = skipped else {
                break;
            };
            let part = FileRun {
                first_block: at,
                count: (run.count - skipped).min(blocks.end() - at),
                file: run.file,
                file_block: run.file_block + skipped,
            };
            at += part.count;
            parts.push(part);
        }
        (at == blocks.end()).then_some(parts)
    }

    /// Returns the longest runs of blocks of the disk.
    pub(crate) fn disk_blocks(&self) -> Vec<Run> {
        let mut blocks: Vec<Run> = Vec::new();
        for run in self.runs.iter().map(FileRun::disk) {
            match blocks.last_mut() {
                Some(last) if last.end() == run.first => last.count += run.count,
                _ => blocks.push(run),
            }
        }
        blocks
    }

    /// Checks that the runs ascend and lie within the disk and their files. Returns the first block of one
    /// that does not.
    fn check(&self) -> Result<(), u64> {
        let mut end = 0;
        for run in &self.runs {
            let next = run.first_block.checked_add(run.count);
            let next = next.filter(|next| *next <= blocks_of(self.length_bytes));
            let file = self.files.get(usize::from(run.file));
            let file_blocks = file.map_or(0, BlockFile::blocks);
            let file_end = run.file_block.checked_add(run.count);
            let is_inside = file_end.is_some_and(|end| end <= file_blocks);
            match next {
                Some(next) if run.first_block >= end && run.count > 0 && is_inside => end = next,
                _ => return Err(run.first_block),
            }
        }
        Ok(())
    }

    /// Returns the bytes of the file in the pool, without the seal.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let count =
            |length: usize| u64::try_from(length).expect("memory is shorter than 2^64 bytes");
        let mut bytes = MAGIC.to_vec();
        for number in [
            self.length_bytes,
            count(self.files.len()),
            count(self.runs.len()),
        ] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for file in &self.files {
            bytes.extend_from_slice(&file.size_bytes.to_le_bytes());
            bytes.extend_from_slice(&file.blake3);
            write_path(&mut bytes, &file.path);
        }
        for run in &self.runs {
            for number in [
                block_number(run.first_block),
                block_number(run.count - 1),
                u32::from(run.file),
                block_number(run.file_block),
            ] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
        bytes
    }

    /// Reads the fields after the magic. Nothing is reserved for a count: the bytes of the file are the bound.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Result<Self, Fault> {
        let length_bytes = fields.u64()?;
        let (file_count, run_count) = (fields.u64()?, fields.u64()?);
        if length_bytes > SIZE_MAX_BYTES {
            let (name, value) = ("length_bytes", length_bytes);
            return Err(Fault::Field { name, value });
        }
        if usize::try_from(file_count).map_or(true, |count| count > FILES_MAX) {
            let (name, value) = ("files", file_count);
            return Err(Fault::Field { name, value });
        }
        let mut files = Vec::new();
        for _ in 0..file_count {
            files.push(BlockFile {
                size_bytes: fields.u64()?,
                blake3: fields.array()?,
                path: fields.path()?,
            });
        }
        let mut runs = Vec::new();
        for _ in 0..run_count {
            let (first_block, more, file) = (fields.u32()?, fields.u32()?, fields.u32()?);
            runs.push(FileRun {
                first_block: first_block.into(),
                count: u64::from(more) + 1,
                file: u16::try_from(file).map_err(|_| Fault::Field {
                    name: "file",
                    value: file.into(),
                })?,
                file_block: fields.u32()?.into(),
            });
        }
        let blocks = Self {
            length_bytes,
            files,
            runs,
        };
        blocks.check().map_err(|block| Fault::Block { block })?;
        Ok(blocks)
    }
}

/// The open files of a base of blocks.
#[derive(Debug)]
pub struct FileBlocksDisk {
    files: Vec<ArtifactFile>,
    runs: Vec<FileRun>,
    length_bytes: u64,
}

impl FileBlocksDisk {
    /// Fills `buf`, which lies within one block of the disk or one run of them, from `offset_bytes` on.
    fn read_part(
        &self,
        buf: &mut [u8],
        offset_bytes: u64,
        run: Option<&FileRun>,
    ) -> io::Result<()> {
        let file = run.and_then(|run| Some((run, self.files.get(usize::from(run.file))?)));
        let Some((run, file)) = file else {
            buf.fill(0);
            return Ok(());
        };
        let within = offset_bytes - run.disk().offset_bytes();
        file.read_exact_at(buf, run.file_block * BLOCK_BYTES + within)
    }
}

impl ReadAt for FileBlocksDisk {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let end_bytes = offset_bytes.checked_add(length_of(buf));
        let end_bytes = end_bytes.filter(|end| *end <= self.length_bytes);
        let end_bytes = end_bytes.ok_or(io::ErrorKind::UnexpectedEof)?;
        let (mut rest, mut at) = (buf, offset_bytes);
        let mut next = self
            .runs
            .partition_point(|run| run.disk().end() * BLOCK_BYTES <= at);
        while at < end_bytes {
            let run = self.runs.get(next);
            let starts_at = run.map_or(u64::MAX, |run| run.disk().offset_bytes());
            let (run, part_end) = match run {
                Some(run) if starts_at <= at => {
                    next += 1;
                    (Some(run), run.disk().end() * BLOCK_BYTES)
                }
                _ => (None, starts_at),
            };
            let part_end = part_end.min(end_bytes);
            let (part, after) = rest.split_at_mut(in_memory(part_end - at));
            self.read_part(part, at, run)?;
            rest = after;
            at = part_end;
        }
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.length_bytes)
    }
}
