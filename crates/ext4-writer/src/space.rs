use crate::WriteError;
use crate::extent::Run;
use crate::geometry::Geometry;
use crate::length::index_of;

/// Allocator of blocks. The blocks in use are a prefix of each group: metadata, then allocations.
#[derive(Debug)]
pub(crate) struct Space {
    geometry: Geometry,
    /// Number of blocks in use in each group, from its first.
    used: Vec<u64>,
    /// Group that is being filled.
    current: u32,
}

impl Space {
    pub(crate) fn new(geometry: Geometry) -> Self {
        let used = (0..geometry.groups)
            .map(|group| geometry.metadata_blocks(group))
            .collect();
        Self {
            geometry,
            used,
            current: 0,
        }
    }

    /// Allocates `blocks` blocks, in as few runs as possible.
    pub(crate) fn take(&mut self, blocks: u64) -> Result<Vec<Run>, WriteError> {
        let mut runs = Vec::new();
        let mut file_block = 0;
        while file_block < blocks {
            let group = self.current;
            if group == self.geometry.groups {
                return Err(WriteError::Full {
                    what: "blocks",
                    available: self.geometry.blocks,
                });
            }
            let start = self.used(group);
            let free = self.geometry.group_blocks(group) - start;
            let length = free.min(blocks - file_block);
            if length == 0 {
                self.current += 1;
                continue;
            }
            *self.used_mut(group) += length;
            let start_block = self.geometry.first_block(group) + start;
            runs.push(Run {
                file_block,
                start_block,
                blocks: length,
            });
            file_block += length;
        }
        Ok(runs)
    }

    fn used_mut(&mut self, group: u32) -> &mut u64 {
        &mut self.used[index_of(group)]
    }

    /// Returns the number of blocks in use in a group.
    pub(crate) fn used(&self, group: u32) -> u64 {
        self.used[index_of(group)]
    }

    pub(crate) fn free(&self) -> u64 {
        self.geometry.blocks - self.used.iter().sum::<u64>()
    }
}
