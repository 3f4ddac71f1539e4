use std::collections::BTreeMap;

use super::disk::{Journal, Problem};
use super::log::{Log, Transaction};
use crate::read::blocks::Logged;
use crate::read::budget::{Budget, Memory};
use crate::read::mapping::Mapping;
use crate::read::{Fault, Image, ReadAt, ReadError, Structure};

/// Approximate memory of the location of one newer block, in bytes.
const NEWER_BYTES: u64 = 40;

/// Returns the location of the newer form of each block in the journal, as `jbd2_journal_recover`
/// would write it: from the last committed transaction that has the block and that neither it nor a
/// later one revokes. Returns it with the memory that is left beside it.
pub(in crate::read) fn replay<R: ReadAt>(
    image: &Image<R>,
) -> Result<(BTreeMap<u64, Logged>, Memory), ReadError> {
    let (mapping, memory) = mapping(image)?;
    let corrupt = |fault| Structure::Journal.corrupt(0, fault);
    let first = mapping.locate(0);
    let first = first.ok_or_else(|| corrupt(Fault::Hole { file_block: 0 }))?;
    let bytes = image.blocks.block(first)?;
    let blocks = mapping
        .extents
        .last()
        .map_or(0, |last| last.file_block + last.blocks);
    let journal = Journal::read(&bytes, blocks).map_err(|problem| match problem {
        Problem::Fault(fault) => {
            Structure::Journal.corrupt(first * image.layout.block_size(), fault)
        }
        Problem::Unsupported(what) => ReadError::Unsupported(what),
    })?;
    if journal.start == 0 {
        return Ok((BTreeMap::new(), image.memory));
    }
    let mut log = Log::new(image, journal, &mapping, memory);
    let mut transactions = Vec::new();
    let mut sequence = journal.sequence;
    while let Some(transaction) = log.next(sequence)? {
        transactions.push(transaction);
        sequence = sequence.wrapping_add(1);
    }
    apply(image, &transactions, &log)
}

/// Returns the location of the journal's blocks, and the memory that is left beside it.
fn mapping<R: ReadAt>(image: &Image<R>) -> Result<(Mapping, Memory), ReadError> {
    let number = image.layout.disk.s_journal_inum.get();
    if number > image.layout.disk.s_inodes_count.get() {
        return Err(Structure::Journal.corrupt(0, Fault::InodeNumber { number }));
    }
    let inode = image.inode(number)?;
    let mut budget = Budget::new(image.layout.blocks, image.memory);
    let mapping = image.mapping(&inode, &mut budget)?;
    if let Some(block) = mapping.repeated_block() {
        let other = Structure::Journal;
        return Err(other.corrupt(inode.offset_bytes, Fault::Overlap { other, block }));
    }
    Ok((mapping, budget.into_memory()))
}

fn apply<R: ReadAt>(
    image: &Image<R>,
    transactions: &[Transaction],
    log: &Log<'_, R>,
) -> Result<(BTreeMap<u64, Logged>, Memory), ReadError> {
    let mut memory = image.memory;
    let mut newer = BTreeMap::new();
    for (age, transaction) in transactions.iter().enumerate() {
        for (logged, journal_block) in &transaction.blocks {
            let last = log.revoked.get(&logged.block);
            if last.is_some_and(|&last| last >= age) || logged.is_deleted {
                continue;
            }
            if logged.block >= image.layout.blocks {
                let fault = Fault::Blocks {
                    start_block: logged.block,
                    end_block: logged.block.saturating_add(1),
                };
                return Err(Structure::Journal.corrupt(0, fault));
            }
            let location = Logged {
                journal_block: *journal_block,
                is_escaped: logged.is_escaped,
            };
            if newer.insert(logged.block, location).is_none() {
                memory.keep(NEWER_BYTES)?;
            }
        }
    }
    Ok((newer, memory))
}
