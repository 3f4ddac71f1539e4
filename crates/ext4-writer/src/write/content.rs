use super::emitter::Emitter;
use crate::content::blocks_with;
use crate::extent::Run;
use crate::format::BLOCK_SIZE;
use crate::inode;
use crate::length::{index_of, length};
use crate::{FileContent, SparseOutput, WriteError};

/// Size of the buffer for a file's content, in bytes.
const PIECE_BYTES: u64 = 1 << 20;

impl<O: SparseOutput> Emitter<'_, O> {
    /// Writes content that is in memory. Returns its size in bytes and its blocks.
    pub(super) fn write_bytes(&mut self, bytes: &[u8]) -> Result<(u64, Vec<Run>), WriteError> {
        let size_bytes = length(bytes.len());
        let runs = self.space.take(size_bytes.div_ceil(BLOCK_SIZE))?;
        for run in &runs {
            let from = index_of(run.file_block * BLOCK_SIZE);
            let to = from
                .saturating_add(index_of(run.blocks * BLOCK_SIZE))
                .min(bytes.len());
            self.put(&bytes[from..to], run.start_block * BLOCK_SIZE)?;
        }
        Ok((size_bytes, runs))
    }

    /// Writes a file's content in pieces, without its holes. Returns its size in bytes and its
    /// blocks.
    pub(super) fn write_file<C: FileContent>(
        &mut self,
        content: &C,
        path: &[u8],
    ) -> Result<(u64, Vec<Run>), WriteError> {
        let unreadable = |source| WriteError::Content {
            path: path.to_vec(),
            source,
        };
        let size_bytes = content.size_bytes();
        inode::check_size(size_bytes).map_err(WriteError::at(path))?;
        let opened = content.open().map_err(unreadable)?;
        let mut runs = Vec::new();
        for blocks in blocks_with(&opened.data, size_bytes) {
            for run in self.space.take(blocks.end - blocks.start)? {
                let run = Run {
                    file_block: run.file_block + blocks.start,
                    ..run
                };
                let end_bytes = ((run.file_block + run.blocks) * BLOCK_SIZE).min(size_bytes);
                let mut piece = Vec::new();
                let mut from = run.file_block * BLOCK_SIZE;
                while from < end_bytes {
                    piece.resize(index_of((end_bytes - from).min(PIECE_BYTES)), 0);
                    opened
                        .bytes
                        .read_exact_at(&mut piece, from)
                        .map_err(unreadable)?;
                    let offset_bytes = from - run.file_block * BLOCK_SIZE;
                    self.put(&piece, run.start_block * BLOCK_SIZE + offset_bytes)?;
                    from += length(piece.len());
                }
                runs.push(run);
            }
        }
        Ok((size_bytes, runs))
    }
}
