use crate::device::AddressSpace;

/// The addresses of an image's parts. They are zeros while the first pass measures, and correct
/// while the second pass writes.
#[derive(Debug)]
pub(super) struct Addresses {
    /// The inodes' numbers, by [`InodeId::index`](fstree::InodeId::index).
    pub(super) nids: Vec<u64>,
    /// First block of the metadata that does not fit behind its inode.
    pub(super) outside_block: u64,
    /// The devices in the unified address space.
    pub(super) space: AddressSpace,
}
