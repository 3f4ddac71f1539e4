use std::collections::{BTreeMap, HashMap};

use super::disk::{Journal, Problem};
use super::log::{Log, Transaction};
use crate::read::blocks::Logged;
use crate::read::budget::Budget;
use crate::read::mapping::Mapping;
use crate::read::{Fault, Image, ReadAt, ReadError, Structure};

/// Returns the location of the newer form of each block in the journal, as `jbd2_journal_recover`
/// would write it: from the last committed transaction that has the block and that neither it nor a
/// later one revokes.
pub(in crate::read) fn replay<R: ReadAt>(
    image: &Image<R>,
) -> Result<BTreeMap<u64, Logged>, ReadError> {
    let mapping = mapping(image)?;
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
        return Ok(BTreeMap::new());
    }
    let mut log = Log::new(image, journal, &mapping);
    let mut transactions = Vec::new();
    let mut sequence = journal.sequence;
    while let Some(transaction) = log.next(sequence)? {
        transactions.push(transaction);
        sequence = sequence.wrapping_add(1);
    }
    apply(image, &transactions)
}

/// Returns the location of the journal's blocks.
fn mapping<R: ReadAt>(image: &Image<R>) -> Result<Mapping, ReadError> {
    let number = image.layout.disk.s_journal_inum.get();
    if number > image.layout.disk.s_inodes_count.get() {
        return Err(Structure::Journal.corrupt(0, Fault::InodeNumber { number }));
    }
    let inode = image.inode(number)?;
    image.mapping(&inode, &mut Budget::new(image.layout.blocks))
}

fn apply<R: ReadAt>(
    image: &Image<R>,
    transactions: &[Transaction],
) -> Result<BTreeMap<u64, Logged>, ReadError> {
    let mut revoked = HashMap::new();
    for (age, transaction) in transactions.iter().enumerate() {
        let blocks = transaction.revoked.iter();
        revoked.extend(blocks.map(|&block| (block, age)));
    }
    let mut newer = BTreeMap::new();
    for (age, transaction) in transactions.iter().enumerate() {
        for (logged, journal_block) in &transaction.blocks {
            let is_revoked = revoked.get(&logged.block).is_some_and(|&last| last >= age);
            if is_revoked || logged.is_deleted {
                continue;
            }
            if logged.block >= image.layout.blocks {
                let fault = Fault::Blocks {
                    start_block: logged.block,
                    end_block: logged.block.saturating_add(1),
                };
                return Err(Structure::Journal.corrupt(0, fault));
            }
            newer.insert(
                logged.block,
                Logged {
                    journal_block: *journal_block,
                    is_escaped: logged.is_escaped,
                },
            );
        }
    }
    Ok(newer)
}
