use fstree::{FileData, InodeId};
use rootfs_view::Content;
use tree_diff::Relation;

use super::side::DiskSide;
use crate::disks::Lower;

/// The image or the layers that two sides share.
#[derive(Debug)]
pub(crate) struct DiskRelation<'a> {
    old: &'a DiskSide,
    new: &'a DiskSide,
    /// True if both sides have the same image, whose inodes have the same numbers then.
    has_one_image: bool,
}

impl<'a> DiskRelation<'a> {
    pub(crate) fn new(old: &'a DiskSide, new: &'a DiskSide) -> Self {
        Self {
            has_one_image: old.lower_files().is(new.lower_files()),
            old,
            new,
        }
    }
}

impl Relation<Content, Content> for DiskRelation<'_> {
    fn is_same_inode(&self, old: InodeId, new: InodeId) -> bool {
        let (one, other) = (self.old.unchanged(old), self.new.unchanged(new));
        self.has_one_image && one.is_some() && one == other
    }

    fn is_same_content(&self, old: &Content, new: &Content) -> bool {
        match (old, new) {
            (Content::Lower(one), Content::Lower(other)) if self.has_one_image => one == other,
            (Content::Lower(one), Content::Lower(other)) => {
                let layers = (self.old.lower_files(), self.new.lower_files());
                lies_in_the_same_layers((layers.0, one), (layers.1, other))
            }
            _ => false,
        }
    }

    fn origin(&self, new: InodeId) -> Option<InodeId> {
        // The old side's own changes would have to be followed to where they moved the file.
        let is_of_old = self.has_one_image && self.old.is_image();
        self.new.lower(new).filter(|_| is_of_old)
    }

    fn is_replaced(&self, old: InodeId, new: InodeId) -> bool {
        let is_of_old = self.has_one_image && self.old.is_image();
        is_of_old && self.new.lower(new) != Some(old)
    }
}

/// Returns true if the files of two images consist of the same blocks of the same layers.
fn lies_in_the_same_layers(
    (old_image, old): (&Lower, &FileData),
    (new_image, new): (&Lower, &FileData),
) -> bool {
    // Device 0 is the image's own metadata.
    let layer = |lower: &'_ Lower, device: u16| {
        let index = usize::from(device.checked_sub(1)?);
        lower.layers().get(index).cloned()
    };
    let is_inline = |data: &FileData| data.inline_offset_bytes.is_some();
    let extents = old.extents.iter().zip(&new.extents);
    old.size_bytes == new.size_bytes
        && old.extents.len() == new.extents.len()
        && !is_inline(old)
        && !is_inline(new)
        && extents.into_iter().all(|(one, other)| {
            let run =
                |extent: &fstree::Extent| (extent.file_block, extent.blocks, extent.start_block);
            let path = layer(old_image, one.device);
            run(one) == run(other) && path.is_some() && path == layer(new_image, other.device)
        })
}
