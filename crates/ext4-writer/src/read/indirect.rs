use super::budget::{Budget, memory_of};
use super::inode::DiskInode;
use super::mapping::Mapping;
use super::{Extent, Image, ReadAt, ReadError, Structure};

/// Number of addresses in `i_block` that name content (`EXT4_NDIR_BLOCKS`).
const DIRECT: usize = 12;

/// A block of addresses that is still to be read.
#[derive(Debug, Clone, Copy)]
struct Due {
    block: u64,
    /// Number of levels of addresses, including this block: 1 if its addresses name content.
    level: u32,
    file_block: u64,
}

/// Reads a block map: twelve addresses, then trees of one, two and three levels.
pub(super) fn read<R: ReadAt>(
    image: &Image<R>,
    inode: &DiskInode,
    budget: &mut Budget,
) -> Result<Mapping, ReadError> {
    let per_block = image.layout.block_size() / 4;
    let structure = Structure::IndirectMap(inode.number);
    let mut mapping = Mapping::default();
    let mut due = Vec::new();
    let mut file_block = 0;
    for (index, block) in addresses(&inode.block).enumerate() {
        let level = u32::try_from(index.saturating_sub(DIRECT - 1)).expect("at most three");
        if block != 0 && level == 0 {
            image.claim((block, 1), structure, inode.offset_bytes, budget)?;
            append(&mut mapping.extents, (file_block, block), budget)?;
        } else if block != 0 {
            due.push(Due {
                block,
                level,
                file_block,
            });
        }
        file_block += per_block.pow(level);
    }
    due.reverse();
    while let Some(next) = due.pop() {
        let offset_bytes = next.block.saturating_mul(image.layout.block_size());
        image.claim((next.block, 1), structure, offset_bytes, budget)?;
        budget.keep(memory_of::<u64>(1))?;
        mapping.tree_blocks.push(next.block);
        let bytes = image.blocks.block(next.block)?;
        let begun = due.len();
        let mut file_block = next.file_block;
        for block in addresses(&bytes) {
            if block != 0 && next.level == 1 {
                image.claim((block, 1), structure, offset_bytes, budget)?;
                append(&mut mapping.extents, (file_block, block), budget)?;
            } else if block != 0 {
                due.push(Due {
                    block,
                    level: next.level - 1,
                    file_block,
                });
            }
            file_block += per_block.pow(next.level - 1);
        }
        due[begun..].reverse();
    }
    Ok(mapping)
}

fn addresses(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|&word| u32::from_le_bytes(word).into())
}

/// Adds a block, to the last extent if it continues that extent.
fn append(
    extents: &mut Vec<Extent>,
    (file_block, start_block): (u64, u64),
    budget: &mut Budget,
) -> Result<(), ReadError> {
    if let Some(last) = extents.last_mut()
        && last.file_block + last.blocks == file_block
        && last.start_block + last.blocks == start_block
    {
        last.blocks += 1;
        return Ok(());
    }
    budget.keep(memory_of::<Extent>(1))?;
    extents.push(Extent {
        file_block,
        blocks: 1,
        start_block,
        is_written: true,
    });
    Ok(())
}
