use std::collections::{HashMap, HashSet};

use zerocopy::FromBytes as _;

use super::disk::{COMMIT, DESCRIPTOR, Features, Header, Journal, REVOKE};
use super::tags::{self, Logged, Sum};
use crate::checksum::crc32c;
use crate::format::JOURNAL_MAGIC;
use crate::read::budget::{Memory, memory_of};
use crate::read::mapping::Mapping;
use crate::read::{Fault, Image, ReadAt, ReadError, Structure};

/// Offset of `h_chksum` in a commit block, in bytes (`struct commit_header`).
const COMMIT_SUM_AT: usize = 16;
/// Size of `struct jbd2_journal_revoke_header_s`, in bytes.
const REVOKE_HEADER_BYTES: usize = 16;
/// Approximate memory of a revoked block: in its transaction, and in the log, in bytes.
const REVOKED_BYTES: u64 = 48;

/// Blocks of a log, from the oldest transaction on.
pub(super) struct Log<'a, R> {
    pub(super) image: &'a Image<R>,
    pub(super) journal: Journal,
    pub(super) mapping: &'a Mapping,
    /// Next block to read, counted from the journal's start.
    position: u32,
    /// Number of blocks that are still to be read.
    left: u32,
    /// Number of transactions that were committed.
    pub(super) committed: usize,
    /// Blocks that committed transactions revoke, each with the last that does, counted from 0.
    pub(super) revoked: HashMap<u64, usize>,
    memory: Memory,
}

/// A transaction that was committed.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    pub(super) sequence: u32,
    /// Tags of the blocks to write, each with the block of the image that holds the content.
    pub(super) blocks: Vec<(Logged, u64)>,
}

impl<'a, R: ReadAt> Log<'a, R> {
    /// Returns the log of a journal, whose transactions and revoked blocks take `memory`.
    pub(super) fn new(
        image: &'a Image<R>,
        journal: Journal,
        mapping: &'a Mapping,
        memory: Memory,
    ) -> Self {
        Self {
            image,
            journal,
            mapping,
            position: journal.start,
            left: journal.end - journal.first,
            committed: 0,
            revoked: HashMap::new(),
            memory,
        }
    }

    /// Returns the transaction with this number; `None` if the log ends before its commit block. A
    /// transaction that was committed and is damaged is an error.
    pub(super) fn next(&mut self, sequence: u32) -> Result<Option<Transaction>, ReadError> {
        let mut transaction = Transaction {
            sequence,
            ..Transaction::default()
        };
        let mut revoked = HashSet::new();
        let mut damaged = None;
        self.memory.keep(memory_of::<Transaction>(1))?;
        loop {
            let Some(place) = self.advance()? else {
                return Ok(None);
            };
            let bytes = self.image.blocks.block(place)?;
            let Some(kind) = block_type(&bytes, sequence) else {
                return Ok(None);
            };
            let is_sound = match kind {
                DESCRIPTOR => self.descriptor(&bytes, &mut transaction)?,
                REVOKE => self.revoke(&bytes, &mut revoked)?,
                COMMIT if !self.is_sealed(&bytes, COMMIT_SUM_AT) => return Ok(None),
                COMMIT => {
                    return match damaged {
                        None => {
                            let numbers = revoked.into_iter();
                            self.revoked
                                .extend(numbers.map(|number| (number, self.committed)));
                            self.committed += 1;
                            self.check(transaction).map(Some)
                        }
                        Some(block) => Err(broken(self.image, block, sequence)),
                    };
                }
                _ => return Ok(None),
            };
            if !is_sound {
                damaged.get_or_insert(place);
            }
        }
    }

    /// Returns the next block of the circular log, as a block of the image; `None` after the last.
    fn advance(&mut self) -> Result<Option<u64>, ReadError> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        let file_block = u64::from(self.position);
        self.position += 1;
        if self.position == self.journal.end {
            self.position = self.journal.first;
        }
        match self.mapping.locate(file_block) {
            Some(place) => Ok(Some(place)),
            None => Err(Structure::Journal.corrupt(0, Fault::Hole { file_block })),
        }
    }

    /// Takes the blocks that a descriptor lists. Returns false if the descriptor is damaged.
    fn descriptor(
        &mut self,
        bytes: &[u8],
        transaction: &mut Transaction,
    ) -> Result<bool, ReadError> {
        let Some(tags) = tags::tags(&self.journal, bytes) else {
            return Ok(false);
        };
        for logged in tags {
            let Some(place) = self.advance()? else {
                return Ok(false);
            };
            self.memory.keep(memory_of::<(Logged, u64)>(1))?;
            transaction.blocks.push((logged, place));
        }
        Ok(self.is_sealed(bytes, bytes.len() - 4))
    }

    /// Takes the numbers of a revoke block, each once for the whole log. Returns false if the block is
    /// damaged.
    fn revoke(&mut self, bytes: &[u8], revoked: &mut HashSet<u64>) -> Result<bool, ReadError> {
        let used = u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
        let used = usize::try_from(used).unwrap_or(usize::MAX);
        let Some(records) = bytes.get(REVOKE_HEADER_BYTES..used) else {
            return Ok(false);
        };
        let record_bytes = if self.journal.features.contains(Features::BITS_64) {
            8
        } else {
            4
        };
        for record in records.chunks_exact(record_bytes) {
            let number = record
                .iter()
                .fold(0, |number, &byte| number << 8 | u64::from(byte));
            // No block is logged that the filesystem does not have.
            if number >= self.image.layout.blocks || !revoked.insert(number) {
                continue;
            }
            if !self.revoked.contains_key(&number) {
                self.memory.keep(REVOKED_BYTES)?;
            }
        }
        Ok(self.is_sealed(bytes, bytes.len() - 4))
    }

    /// Returns true if the checksum at `stored_at` matches, or if the journal has no checksums.
    fn is_sealed(&self, bytes: &[u8], stored_at: usize) -> bool {
        if !self.journal.has_checksums() {
            return true;
        }
        let crc = crc32c(crc32c(self.journal.seed, &bytes[..stored_at]), &[0; 4]);
        let crc = crc32c(crc, &bytes[stored_at + 4..]);
        bytes[stored_at..stored_at + 4] == crc.to_be_bytes()
    }

    /// Checks the content of a committed transaction.
    fn check(&self, transaction: Transaction) -> Result<Transaction, ReadError> {
        let seed = crc32c(self.journal.seed, &transaction.sequence.to_be_bytes());
        for (logged, place) in &transaction.blocks {
            let Some(stored) = logged.checksum else {
                continue;
            };
            let computed = crc32c(seed, &self.image.blocks.block(*place)?);
            let is_sound = match stored {
                Sum::Whole(stored) => stored == computed,
                Sum::Low(stored) => u32::from(stored) == computed & 0xffff,
            };
            if !is_sound {
                return Err(broken(self.image, *place, transaction.sequence));
            }
        }
        Ok(transaction)
    }
}

/// Returns the type of a block; `None` if the block does not belong to this transaction.
fn block_type(bytes: &[u8], sequence: u32) -> Option<u32> {
    let (header, _) = Header::read_from_prefix(bytes).ok()?;
    let is_ours = header.h_magic.get() == JOURNAL_MAGIC && header.h_sequence.get() == sequence;
    is_ours.then_some(header.h_blocktype.get())
}

fn broken<R>(image: &Image<R>, block: u64, sequence: u32) -> ReadError {
    let offset_bytes = block.saturating_mul(image.layout.block_size());
    Structure::Journal.corrupt(offset_bytes, Fault::Transaction { block, sequence })
}
