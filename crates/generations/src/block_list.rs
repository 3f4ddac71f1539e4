use crate::GenerationId;
use crate::block::{Run, SIZE_MAX_BYTES, blocks_of};
use crate::error::{Fault, OpenError};
use crate::names;
use crate::sealed::{Fields, damaged, read, seal, unseal};
use crate::storage::Storage;

/// The magic of a list, with the version of the format.
const MAGIC: [u8; 8] = *b"GENLIST1";

/// The flag of a list whose digest was recorded.
const HAS_DIGEST: u64 = 1 << 0;
/// The flag of a list whose data lies in a base.
const IS_BASE: u64 = 1 << 1;

/// The list of the blocks that a sealed generation has. `docs/formats/generations.md` describes the
/// file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockList {
    pub(crate) id: GenerationId,
    /// The exact length of the data file, in bytes; bytes beyond read as zeros.
    pub(crate) data_bytes: u64,
    /// True if the data file names a [`Base`](crate::Base), which has the data.
    pub(crate) is_base: bool,
    /// BLAKE3 of the content; `None` until it was taken.
    pub(crate) digest: Option<[u8; 32]>,
    /// The longest runs of blocks that the data file has, in ascending order.
    pub(crate) data: Vec<Run>,
    /// The longest runs of blocks that read as zeros, whatever older generations have.
    pub(crate) zeros: Vec<Run>,
}

impl BlockList {
    /// Returns the bytes of the file, with the seal.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.id.to_bytes());
        bytes.extend_from_slice(&self.data_bytes.to_le_bytes());
        let flags = [(self.digest.is_some(), HAS_DIGEST), (self.is_base, IS_BASE)];
        let flags = flags.iter().filter(|(is_set, _)| *is_set);
        let flags = flags.fold(0, |flags, (_, flag)| flags | flag);
        bytes.extend_from_slice(&flags.to_le_bytes());
        bytes.extend_from_slice(&self.digest.unwrap_or_default());
        for runs in [&self.data, &self.zeros] {
            write_runs(&mut bytes, runs);
        }
        seal(bytes)
    }

    /// Reads the bytes of a file that should belong to `id`.
    pub(crate) fn from_bytes(bytes: &[u8], id: GenerationId) -> Result<Self, Fault> {
        let mut fields = Fields::new(unseal(bytes)?);
        fields.magic(MAGIC)?;
        match fields.id(GenerationId::from_bytes)? {
            Some(found) if found == id => {}
            found => return Err(wrong_identity(found)),
        }
        let data_bytes = fields.u64()?;
        if data_bytes > SIZE_MAX_BYTES {
            return Err(field("data_bytes", data_bytes));
        }
        let flags = fields.u64()?;
        if flags & !(HAS_DIGEST | IS_BASE) != 0 {
            return Err(field("flags", flags));
        }
        let digest: [u8; 32] = fields.array()?;
        let digest = (flags & HAS_DIGEST != 0).then_some(digest);
        let data = read_runs(&mut fields)?;
        let zeros = read_runs(&mut fields)?;
        fields.end()?;
        let list = Self {
            id,
            data_bytes,
            is_base: flags & IS_BASE != 0,
            digest,
            data,
            zeros,
        };
        list.check_data()?;
        Ok(list)
    }

    /// Reads the list of a generation.
    pub(crate) fn read<S: Storage>(storage: &S, id: GenerationId) -> Result<Self, OpenError> {
        let name = names::blocks(id);
        let bytes = read(storage, &name)?;
        Ok(Self::from_bytes(&bytes, id).map_err(damaged(&name))?)
    }

    /// Checks that the data file is long enough.
    fn check_data(&self) -> Result<(), Fault> {
        let end = self.data.last().map_or(0, |run| run.end());
        if end > blocks_of(self.data_bytes) {
            return Err(Fault::Block { block: end - 1 });
        }
        Ok(())
    }
}

/// Writes runs of one block, then longer ones: a single block costs four bytes.
fn write_runs(bytes: &mut Vec<u8>, runs: &[Run]) {
    let (singles, longer): (Vec<Run>, Vec<Run>) = runs.iter().partition(|run| run.count == 1);
    for count in [singles.len(), longer.len()] {
        let count = u64::try_from(count).expect("memory is shorter than 2^64 bytes");
        bytes.extend_from_slice(&count.to_le_bytes());
    }
    for run in singles {
        bytes.extend_from_slice(&block_number(run.first).to_le_bytes());
    }
    for run in longer {
        bytes.extend_from_slice(&block_number(run.first).to_le_bytes());
        bytes.extend_from_slice(&block_number(run.count - 1).to_le_bytes());
    }
}

/// Returns a block number, or a number of blocks less one, as files have it.
pub(crate) fn block_number(number: u64) -> u32 {
    u32::try_from(number).expect("a disk of 16 TiB has 2^32 blocks")
}

fn read_runs(fields: &mut Fields<'_>) -> Result<Vec<Run>, Fault> {
    let singles = fields.u64()?;
    let longer = fields.u64()?;
    // Nothing is reserved for a count: the bytes of the file are the bound.
    let mut runs = Vec::new();
    for _ in 0..singles {
        push_ascending(&mut runs, Run::new(fields.u32()?.into(), 1))?;
    }
    let mut long_runs = Vec::new();
    for _ in 0..longer {
        let (first, more): (u32, u32) = (fields.u32()?, fields.u32()?);
        push_ascending(&mut long_runs, Run::new(first.into(), u64::from(more) + 1))?;
    }
    runs.extend(long_runs);
    runs.sort_unstable_by_key(|run| run.first);
    for pair in runs.windows(2) {
        if let [before, after] = pair
            && before.end() >= after.first
        {
            return Err(Fault::Block { block: after.first });
        }
    }
    Ok(runs)
}

/// Appends a run that lies behind the last and does not touch it.
fn push_ascending(runs: &mut Vec<Run>, run: Run) -> Result<(), Fault> {
    let is_behind = runs.last().is_none_or(|last| last.end() < run.first);
    if !is_behind || run.end() > blocks_of(SIZE_MAX_BYTES) {
        return Err(Fault::Block { block: run.first });
    }
    runs.push(run);
    Ok(())
}

fn field(name: &'static str, value: u64) -> Fault {
    Fault::Field { name, value }
}

/// Returns the fault of a file that belongs to another generation.
pub(crate) fn wrong_identity(found: Option<GenerationId>) -> Fault {
    let found = found.map_or_else(|| "nothing".to_owned(), |id| format!("generation {id}"));
    Fault::Identity { found }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::block_set::BlockSet;

    fn id() -> GenerationId {
        GenerationId::from_bytes([7; 16]).expect("not zero")
    }

    fn list(data: &[(u64, u64)], zeros: &[(u64, u64)]) -> BlockList {
        let runs = |runs: &[(u64, u64)]| {
            let runs = runs.iter().map(|(first, count)| Run::new(*first, *count));
            BlockSet::from_runs(runs).runs()
        };
        BlockList {
            id: id(),
            data_bytes: SIZE_MAX_BYTES,
            is_base: false,
            digest: Some([3; 32]),
            data: runs(data),
            zeros: runs(zeros),
        }
    }

    #[test]
    fn a_list_of_a_whole_disk_of_16_tib_is_read_back() {
        let whole = list(&[(0, 1 << 32)], &[((1 << 32) - 1, 1)]);
        assert_eq!(BlockList::from_bytes(&whole.to_bytes(), id()), Ok(whole));
    }

    #[test]
    fn a_single_block_costs_four_bytes() {
        let one = list(&[(9, 1)], &[]).to_bytes().len();
        let three = list(&[(9, 1), (20, 1), (22, 1)], &[]).to_bytes().len();
        assert_eq!(three - one, 8);
    }

    #[test]
    fn a_sealed_list_with_wrong_blocks_is_refused() {
        let mut overlapping = list(&[(5, 1), (10, 4)], &[]);
        overlapping.data[0].first = 12;
        let mut too_long = list(&[(5, 3)], &[]);
        too_long.data_bytes = 4096 * 7;
        for bad in [overlapping, too_long] {
            let read = BlockList::from_bytes(&bad.to_bytes(), id());
            assert!(matches!(read, Err(Fault::Block { .. })), "{read:?}");
        }
    }

    proptest! {
        #[test]
        fn a_list_is_read_back_and_no_flipped_bit_is_missed(
            data in prop::collection::vec((0_u64..90_000, 1_u64..9), 0..40),
            zeros in prop::collection::vec((0_u64..90_000, 1_u64..9), 0..40),
            flip in any::<prop::sample::Index>(),
            bit in 0_u32..8,
        ) {
            let list = list(&data, &zeros);
            let mut bytes = list.to_bytes();
            prop_assert_eq!(BlockList::from_bytes(&bytes, id()), Ok(list));
            let flipped = flip.index(bytes.len());
            bytes[flipped] ^= 1 << bit;
            prop_assert_eq!(BlockList::from_bytes(&bytes, id()), Err(Fault::Seal));
            bytes.truncate(flipped);
            prop_assert_eq!(BlockList::from_bytes(&bytes, id()), Err(Fault::Seal));
        }
    }
}
