use std::sync::Arc;

use block_tree::{BLOCK_BYTES, BlockTree};
use fstree::ReadAt;
use packed_file::{GROUP_BYTES, PackedFile};

use crate::wide;

/// The values that prove the bytes of an artifact.
pub trait Proof: Send + Sync {
    /// Returns the size of the artifact, in bytes.
    fn size_bytes(&self) -> u64;

    /// Returns the length of the ranges that are proven, in bytes: a power of two of at most 64 KiB.
    fn block_bytes(&self) -> u64;

    /// Returns true if these are the artifact's bytes from `offset_bytes` on. They are whole blocks, at least one; the
    /// last of the artifact may be shorter. False if that cannot be found out.
    fn proves(&self, offset_bytes: u64, bytes: &[u8]) -> bool;
}

impl<R: ReadAt + Send + Sync> Proof for PackedFile<R> {
    fn size_bytes(&self) -> u64 {
        self.plain_bytes()
    }

    fn block_bytes(&self) -> u64 {
        wide(GROUP_BYTES)
    }

    fn proves(&self, offset_bytes: u64, bytes: &[u8]) -> bool {
        PackedFile::proves(self, offset_bytes, bytes).unwrap_or(false)
    }
}

impl<R: ReadAt + Send + Sync> Proof for BlockTree<R> {
    fn size_bytes(&self) -> u64 {
        self.length_bytes()
    }

    fn block_bytes(&self) -> u64 {
        BLOCK_BYTES
    }

    fn proves(&self, offset_bytes: u64, bytes: &[u8]) -> bool {
        !bytes.is_empty() && self.verify(offset_bytes, bytes).is_ok()
    }
}

impl<P: Proof + ?Sized> Proof for Arc<P> {
    fn size_bytes(&self) -> u64 {
        (**self).size_bytes()
    }

    fn block_bytes(&self) -> u64 {
        (**self).block_bytes()
    }

    fn proves(&self, offset_bytes: u64, bytes: &[u8]) -> bool {
        (**self).proves(offset_bytes, bytes)
    }
}
