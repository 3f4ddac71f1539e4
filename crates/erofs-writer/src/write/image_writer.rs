use std::io::{self, Read};
use std::path::Path;

use fstree::{DataSink, FileData, Run, Tree};

use super::content::Content;
use super::emitter::Emitter;
use super::image_output::{ImageOutput, OutputFile};
use super::output::Output;
use super::plan::Plan;
use super::source::Source;
use super::stored::{RUN_MAX_BYTES, StoredRuns};
use super::{Options, superblock};
use crate::device::head_blocks;
use crate::error::WriteError;
use crate::format::BLOCK_SIZE_BYTES;
use crate::inode::Limits;
use crate::length::{Length, blocks_of};

/// The sizes of the image that [`ImageWriter::finish`] wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Length of the image, in blocks.
    pub blocks: u32,
    /// Number of inodes in the image.
    pub inodes: u64,
    /// Number of blocks of file data.
    pub data_blocks: u64,
    /// Number of blocks of metadata, including those of the superblock and the device table.
    pub metadata_blocks: u64,
}

/// Writes one image: file data as it arrives, then the metadata of a tree.
///
/// The output must be empty, at its start, and able to seek. The writer keeps no data in memory
/// except for its buffer and the addresses of short runs, so that an equal run is not stored again.
/// After an error the output holds no image.
#[derive(Debug)]
pub struct ImageWriter<W: ImageOutput> {
    out: Output<W>,
    options: Options,
    data_block: u64,
    stored: StoredRuns,
}

impl ImageWriter<OutputFile> {
    /// Starts an image in the file at `path`, which is created or emptied.
    ///
    /// # Errors
    /// If the file cannot be opened, or the options are invalid.
    pub fn create(path: impl AsRef<Path>, options: Options) -> Result<Self, WriteError> {
        let out = OutputFile::create(path).map_err(WriteError::Create)?;
        Self::new(out, options)
    }
}

impl<W: ImageOutput> ImageWriter<W> {
    /// Starts an image: leaves room for the superblock and the device table, so that data can
    /// follow.
    ///
    /// # Errors
    /// If the options are invalid, or the output cannot be moved.
    pub fn new(out: W, options: Options) -> Result<Self, WriteError> {
        let devices = options.check().map_err(WriteError::Options)?;
        let data_block = head_blocks(devices);
        let mut out = Output::new(out);
        out.seek(data_block * BLOCK_SIZE_BYTES)?;
        Ok(Self {
            out,
            options,
            data_block,
            stored: StoredRuns::default(),
        })
    }

    /// Writes the metadata of `tree` behind the data, then the superblock. Returns the flushed
    /// output.
    ///
    /// # Errors
    /// The tree holds something that EROFS cannot store, or the output fails.
    pub fn finish(self, tree: &Tree<FileData>) -> Result<(W, Summary), WriteError> {
        let Self {
            out,
            options,
            data_block,
            stored: _,
        } = self;
        let meta_block = out.offset_bytes() / BLOCK_SIZE_BYTES;
        let limits = Limits {
            own_blocks: data_block..meta_block,
            devices: &options.devices,
        };
        let source = Source::new(tree, limits)?;
        let plan = Plan::measure(&source, meta_block, &options)?;
        let emitter = Emitter::new(&source, &plan.addresses, out);
        let (mut out, learned) = emitter.inodes()?;
        for (id, length) in learned.outside {
            if let Content::Bytes(bytes) = source.content(id, &plan.addresses)? {
                out.write(&bytes[..length])?;
                out.align(BLOCK_SIZE_BYTES)?;
            }
        }
        out.write(source.shared.area())?;
        out.align(BLOCK_SIZE_BYTES)?;

        let head = superblock::encode(&options, &plan.facts, &plan.addresses.space);
        out.seek(0)?;
        out.write(&head)?;
        let writer = out.finish()?;
        let data_blocks = meta_block - data_block;
        let summary = Summary {
            blocks: plan.facts.blocks,
            inodes: plan.facts.inodes,
            data_blocks,
            metadata_blocks: u64::from(plan.facts.blocks) - data_blocks,
        };
        Ok((writer, summary))
    }

    /// Appends `length_bytes` of `content` as one run of blocks, the last of them zero-padded.
    ///
    /// Returns `None` for empty content. If an identical run of at most 256 KiB was written before,
    /// returns that run, so files share it.
    ///
    /// # Errors
    /// `content` fails or ends early, or the output fails. The writer can then no longer be used.
    pub fn append(
        &mut self,
        content: &mut dyn Read,
        length_bytes: u64,
    ) -> Result<Option<Run>, WriteError> {
        let blocks = blocks_of(length_bytes);
        let start = self.out.offset_bytes() / BLOCK_SIZE_BYTES;
        let end = start.saturating_add(blocks);
        let (Ok(start_block), Ok(_)) = (u32::try_from(start), u32::try_from(end)) else {
            return Err(WriteError::TooLarge { blocks: end });
        };
        if length_bytes == 0 {
            return Ok(None);
        }
        self.out.reserve(short_run(blocks).unwrap_or(0))?;
        self.copy(content, length_bytes, start_block)?;
        self.close(start_block, blocks).map(Some)
    }

    /// Appends everything that `content` still holds, and returns it as the content of a file.
    /// Equal runs are shared as by [`ImageWriter::append`].
    ///
    /// # Errors
    /// `content` fails, or the output fails. The writer can then no longer be used.
    pub fn append_all(&mut self, content: &mut dyn Read) -> Result<FileData, WriteError> {
        let start = self.out.offset_bytes() / BLOCK_SIZE_BYTES;
        let start_block =
            u32::try_from(start).map_err(|_| WriteError::TooLarge { blocks: start })?;
        // One byte more than a run that is compared: the search for the end empties a full buffer.
        self.out.reserve(RUN_MAX_BYTES + 1)?;
        let size_bytes = self.copy_to_end(content, start_block)?;
        if size_bytes == 0 {
            return Ok(FileData::default());
        }
        let run = self.close(start_block, blocks_of(size_bytes))?;
        Ok(run.whole_file(size_bytes))
    }

    /// Fills the last block of a run, and returns the run, or an earlier one that equals it.
    fn close(&mut self, start_block: u32, blocks: u64) -> Result<Run, WriteError> {
        self.out.align(BLOCK_SIZE_BYTES)?;
        let earlier = short_run(blocks).map(|length| self.earlier(length, start_block));
        Ok(Run {
            start_block: earlier.transpose()?.flatten().unwrap_or(start_block),
            blocks,
        })
    }

    fn copy_to_end(&mut self, content: &mut dyn Read, start_block: u32) -> Result<u64, WriteError> {
        let start_bytes = self.out.offset_bytes();
        loop {
            match content.read(self.out.room()?) {
                Ok(0) => return Ok(self.out.offset_bytes() - start_bytes),
                Ok(count) => self.out.advance(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(WriteError::Content {
                        start_block,
                        source,
                    });
                }
            }
            let blocks = blocks_of(self.out.offset_bytes());
            if u32::try_from(blocks).is_err() {
                return Err(WriteError::TooLarge { blocks });
            }
        }
    }

    /// Looks for an earlier run that equals the last one. Returns its first block and removes the
    /// last run from the output, or returns `None` if there is no equal run.
    fn earlier(&mut self, length: usize, start_block: u32) -> Result<Option<u32>, WriteError> {
        let run = self.out.last(length);
        let Some(found) = self.stored.find_or_insert(run, start_block) else {
            return Ok(None);
        };
        let offset_bytes = u64::from(found) * BLOCK_SIZE_BYTES;
        if !self.out.repeats(length, offset_bytes)? {
            return Ok(None);
        }
        self.out.take_back(length);
        Ok(Some(found))
    }

    fn copy(
        &mut self,
        content: &mut dyn Read,
        length_bytes: u64,
        start_block: u32,
    ) -> Result<(), WriteError> {
        let mut missing_bytes = length_bytes;
        while missing_bytes > 0 {
            let room = self.out.room()?;
            let wanted = usize::try_from(missing_bytes).unwrap_or(usize::MAX);
            let length = room.len().min(wanted);
            match content.read(&mut room[..length]) {
                Ok(0) => {
                    return Err(WriteError::ShortContent {
                        start_block,
                        length_bytes,
                        actual_bytes: length_bytes - missing_bytes,
                    });
                }
                Ok(count) => {
                    missing_bytes -= room[..count].length_bytes();
                    self.out.advance(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(WriteError::Content {
                        start_block,
                        source,
                    });
                }
            }
        }
        Ok(())
    }
}

/// Returns the length in bytes of a run of blocks that is compared with earlier ones; `None` if it
/// is too long for that.
fn short_run(blocks: u64) -> Option<usize> {
    let length = usize::try_from(blocks.saturating_mul(BLOCK_SIZE_BYTES)).ok()?;
    (length <= RUN_MAX_BYTES).then_some(length)
}

impl<W: ImageOutput> DataSink for ImageWriter<W> {
    type Error = WriteError;

    fn append(
        &mut self,
        content: &mut dyn Read,
        length_bytes: u64,
    ) -> Result<Option<Run>, WriteError> {
        Self::append(self, content, length_bytes)
    }
}
