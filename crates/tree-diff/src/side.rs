use fstree::{InodeId, Segment, Tree};

/// One side of a comparison: a tree, and access to the content of its files.
pub trait Side {
    /// Location of a regular file's content.
    type Content;
    /// A reason why content cannot be read.
    type Error: std::error::Error + 'static;

    /// Returns the tree.
    fn tree(&self) -> &Tree<Self::Content>;

    /// Returns a file's size, in bytes.
    fn size_bytes(&self, content: &Self::Content) -> u64;

    /// Returns the ranges of a file that hold data, in ascending order and without overlaps.
    fn segments(&self, content: &Self::Content) -> Vec<Segment>;

    /// Fills `buffer` with a file's content from `offset_bytes` on. Holes are zeros.
    ///
    /// # Errors
    /// If the content cannot be read, or ends before the buffer is full.
    fn read_at(
        &self,
        content: &Self::Content,
        offset_bytes: u64,
        buffer: &mut [u8],
    ) -> Result<(), Self::Error>;

    /// Returns true if the names of this inode are treated as absent.
    fn is_hidden(&self, id: InodeId) -> bool {
        let _ = id;
        false
    }
}

/// Knowledge about how the two sides of a comparison belong together, which spares reading them.
/// The default knows nothing.
pub trait Relation<O, N> {
    /// Returns true if the two inodes are known to be equal, in metadata and content.
    fn is_same_inode(&self, old: InodeId, new: InodeId) -> bool {
        let _ = (old, new);
        false
    }

    /// Returns true if the two contents are known to be equal.
    fn is_same_content(&self, old: &O, new: &N) -> bool {
        let _ = (old, new);
        false
    }

    /// Returns the old inode that a new one was before it was moved or changed. `None` if that is
    /// not known.
    fn origin(&self, new: InodeId) -> Option<InodeId> {
        let _ = new;
        None
    }

    /// Returns true if the new directory is known to have replaced the old one of the same path,
    /// rather than to be what became of it.
    fn is_replaced(&self, old: InodeId, new: InodeId) -> bool {
        let _ = (old, new);
        false
    }
}

/// A relation of two sides of which nothing is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unrelated;

impl<O, N> Relation<O, N> for Unrelated {}
