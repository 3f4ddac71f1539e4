use fstree::InodeId;

/// The disks that an inode of a view comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// True if the upper disk has the inode. Otherwise the inode is the image's, unchanged.
    pub is_upper: bool,
    /// The image's inode, as [`View::image`](crate::View::image) numbers it: the inode itself, the
    /// directory that an upper directory is merged with, or the file whose content an upper file
    /// shows or which it is a copy of. `None` if the upper disk does not refer to one.
    pub lower: Option<InodeId>,
}

impl Origin {
    pub(crate) const fn upper(lower: Option<InodeId>) -> Self {
        Self {
            is_upper: true,
            lower,
        }
    }

    pub(crate) const fn image(lower: InodeId) -> Self {
        Self {
            is_upper: false,
            lower: Some(lower),
        }
    }
}
