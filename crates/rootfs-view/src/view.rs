use std::io::{self, Read as _};

use fstree::{InodeId, ReadAt, Segment, Tree};

use crate::Content;
use crate::content::segments;
use crate::error::{ContentError, OpenError, ResolveError};
use crate::merge::merge;
use crate::resolve::resolve;

/// A root filesystem as overlayfs shows it.
#[derive(Debug)]
pub struct View<R> {
    upper: ext4_writer::Image<R>,
    lower: erofs_writer::Image<R>,
    layers: Vec<R>,
    tree: Tree<Content>,
}

impl<R: ReadAt> View<R> {
    /// Reads all metadata of the upper disk, and of the image whose devices are `layers`.
    ///
    /// # Errors
    /// If a disk cannot be read or is not a sandbox's.
    pub fn open(upper: R, fsmeta: R, layers: Vec<R>) -> Result<Self, OpenError> {
        let upper = ext4_writer::Image::open(upper).map_err(OpenError::Upper)?;
        let lower = erofs_writer::Image::open(fsmeta).map_err(OpenError::Lower)?;
        let upper_tree = upper.read_tree().map_err(OpenError::ReadUpper)?;
        let (lower_tree, numbers) = lower.read_numbered_tree().map_err(OpenError::ReadLower)?;
        let tree = merge(&upper_tree, &lower_tree, &numbers)?;
        Ok(Self {
            upper,
            lower,
            layers,
            tree,
        })
    }

    /// Returns the tree of all files.
    pub const fn tree(&self) -> &Tree<Content> {
        &self.tree
    }

    /// Returns the file at a path, as a process sees it whose root and working directory are the
    /// tree's root. A slash at the end of the path requires a directory.
    ///
    /// # Errors
    /// If the path does not lead to a file.
    pub fn resolve(&self, path: &[u8], follow_last: bool) -> Result<InodeId, ResolveError> {
        resolve(&self.tree, path, follow_last)
    }

    /// Returns the ranges of a file that hold data, in ascending order.
    pub fn segments(&self, content: &Content) -> Vec<Segment> {
        match content {
            Content::Upper(data) if data.inline.is_none() => {
                let written = data.extents.iter().filter(|extent| extent.is_written);
                let runs = written.map(|extent| (extent.file_block, extent.blocks));
                segments(data.size_bytes, self.upper.superblock().block_bytes, runs)
            }
            Content::Lower(data) if data.inline_offset_bytes.is_none() => {
                let runs = data.extents.iter();
                let runs = runs.map(|extent| (extent.file_block, extent.blocks));
                segments(data.size_bytes, self.lower.block_size_bytes(), runs)
            }
            other => Segment::whole_file(other.size_bytes()),
        }
    }

    /// Fills `buffer` with a file's content from `offset_bytes` on.
    ///
    /// # Errors
    /// If the content is missing, ends before the buffer is full, or cannot be read.
    pub fn read_at(
        &self,
        content: &Content,
        offset_bytes: u64,
        buffer: &mut [u8],
    ) -> Result<(), ContentError> {
        self.read(content, offset_bytes, buffer)?
            .map_err(ContentError::Io)
    }

    fn read(
        &self,
        content: &Content,
        offset_bytes: u64,
        buffer: &mut [u8],
    ) -> Result<io::Result<()>, ContentError> {
        match content {
            Content::Upper(data) => {
                let mut reader = self.upper.file_reader(data);
                reader.seek_to(offset_bytes);
                Ok(reader.read_exact(buffer))
            }
            Content::Lower(data) => {
                let layers = self.layers.iter();
                let devices: Vec<&dyn ReadAt> =
                    layers.map(|layer| -> &dyn ReadAt { layer }).collect();
                let mut reader = self.lower.file_reader(data, &devices);
                reader.seek_to(offset_bytes);
                Ok(reader.read_exact(buffer))
            }
            Content::Lost { .. } => Err(ContentError::Lost),
        }
    }
}
