use super::DumpError;
use super::page::Page;
use crate::format::{BG_BLOCK_UNINIT, BG_INODE_UNINIT};
use crate::read::ReadAt;

impl<R: ReadAt> Page<'_, '_, R> {
    pub(super) fn block_bitmap(&mut self, group: u32) -> Result<(), DumpError> {
        let layout = &self.image.layout;
        let found = self.image.group(group)?;
        if found.flags & BG_BLOCK_UNINIT != 0 {
            return self.field("used", &"(not initialised)");
        }
        let (first, count) = (layout.first_block(group), layout.group_blocks(group));
        self.runs(found.block_bitmap, first, count)
    }

    pub(super) fn inode_bitmap(&mut self, group: u32) -> Result<(), DumpError> {
        let found = self.image.group(group)?;
        if found.flags & BG_INODE_UNINIT != 0 {
            return self.field("used", &"(not initialised)");
        }
        let per_group = u64::from(self.image.layout.inodes_per_group());
        self.runs(
            found.inode_bitmap,
            u64::from(group) * per_group + 1,
            per_group,
        )
    }

    /// Writes the ranges of set bits in a bitmap; `first` is the number that the first bit stands
    /// for.
    fn runs(&mut self, block: u64, first: u64, count: u64) -> Result<(), DumpError> {
        let bytes = self.image.blocks.block(block)?;
        let is_set = |bit: u64| {
            let byte = usize::try_from(bit / 8).ok().and_then(|at| bytes.get(at));
            byte.is_some_and(|byte| byte >> (bit % 8) & 1 != 0)
        };
        let mut begun = None;
        for bit in 0..=count {
            let set = bit < count && is_set(bit);
            match begun {
                None if set => begun = Some(bit),
                Some(start) if !set => {
                    let (start, last) = (first + start, first + bit - 1);
                    self.field("used", &format_args!("{start} to {last}"))?;
                    begun = None;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
