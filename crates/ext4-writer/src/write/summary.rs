/// Size and usage of a written image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Number of blocks in the filesystem.
    pub blocks: u64,
    /// Number of blocks that are not in use.
    pub free_blocks: u64,
    /// Number of inodes in the filesystem, in use or not.
    pub inodes: u32,
}
