use std::convert::Infallible;
use std::io::{self, Read as _};

use ext4_writer::{METADATA_MAX_BYTES, ReadError};
use fstree::{BLOCK_SIZE_BYTES, Directory, InodeId, ReadAt, Segment, Tree};

use crate::content::segments;
use crate::error::{ContentError, OpenError, ResolveError};
use crate::image::shown_image;
use crate::let_in::Given;
use crate::merge::{Merged, merge, merge_staged, upper_directory};
use crate::resolve::resolve;
use crate::staged::StagedImage;
use crate::{Content, Origin};

/// Opens the disk of a sandbox, whose guest may have written any block of it.
fn open_disk<R: ReadAt>(disk: R, metadata_bytes: u64) -> Result<ext4_writer::Image<R>, OpenError> {
    let opened = ext4_writer::Image::open_within(disk, metadata_bytes);
    opened.map_err(|error| match error {
        ext4_writer::OpenError::Read(ReadError::Memory { limit_bytes }) => {
            OpenError::UpperMemory { limit_bytes }
        }
        error => OpenError::Upper(error),
    })
}

fn read_error(error: ReadError) -> OpenError {
    match error {
        ReadError::Memory { limit_bytes } => OpenError::UpperMemory { limit_bytes },
        error => OpenError::ReadUpper(error),
    }
}

/// A root filesystem as overlayfs shows it.
#[derive(Debug)]
pub struct View<R> {
    lower: erofs_writer::Image<R>,
    layers: Vec<R>,
    image: Tree<Content>,
    /// The tree that the sandbox began with; `None` if it is that of the image.
    base: Option<Tree<Content>>,
    /// `None` if the view is of an image alone.
    sandbox: Option<Above<R>>,
}

/// The upper disk of a view, and the tree that it makes with the image.
#[derive(Debug)]
struct Above<R> {
    upper: ext4_writer::Image<R>,
    merged: Merged,
}

impl<R: ReadAt> View<R> {
    /// Reads all metadata of the upper disk, and of the image whose devices are `layers`.
    ///
    /// # Errors
    /// If a disk cannot be read or is not a sandbox's.
    pub fn open(upper: R, fsmeta: R, layers: Vec<R>) -> Result<Self, OpenError> {
        Self::open_within(upper, fsmeta, layers, METADATA_MAX_BYTES)
    }

    /// Opens a view as [`View::open`] does. The metadata of the upper disk takes about
    /// `metadata_bytes` of memory at most.
    ///
    /// # Errors
    /// If a disk cannot be read or is not a sandbox's, and if the upper disk's metadata is larger.
    pub fn open_within(
        upper: R,
        fsmeta: R,
        layers: Vec<R>,
        metadata_bytes: u64,
    ) -> Result<Self, OpenError> {
        let upper = open_disk(upper, metadata_bytes)?;
        let lower = erofs_writer::Image::open(fsmeta).map_err(OpenError::Lower)?;
        let upper_tree = upper.read_tree().map_err(read_error)?;
        let (lower_tree, numbers) = lower.read_numbered_tree().map_err(OpenError::ReadLower)?;
        let merged = merge(&upper_tree, &lower_tree, &numbers)?;
        Ok(Self {
            lower,
            layers,
            image: shown_image(lower_tree),
            base: None,
            sandbox: Some(Above { upper, merged }),
        })
    }

    /// Reads all metadata of the staged directories of a sandbox: of the upper disk, and of the image that has
    /// the directories' files as they were when they were staged. `targets` are the paths in the sandbox, in
    /// the order of the image's directories. The view shows each at its path, and nothing else. The metadata
    /// of the upper disk takes about `metadata_bytes` of memory at most.
    ///
    /// # Errors
    /// If a disk cannot be read, or does not have these directories.
    pub fn open_staged(
        upper: R,
        image: R,
        targets: &[Vec<u8>],
        metadata_bytes: u64,
    ) -> Result<Self, OpenError> {
        let upper = open_disk(upper, metadata_bytes)?;
        let lower = erofs_writer::Image::open(image).map_err(OpenError::Lower)?;
        let upper_tree = upper.read_tree().map_err(read_error)?;
        let (lower_tree, numbers) = lower.read_numbered_tree().map_err(OpenError::ReadLower)?;
        let image = StagedImage::new(shown_image(lower_tree.clone()), targets)?;
        let merged = merge_staged(&upper_tree, (&lower_tree, &numbers), &image)?;
        Ok(Self {
            lower,
            layers: Vec::new(),
            image: image.tree,
            base: None,
            sandbox: Some(Above { upper, merged }),
        })
    }

    /// Reads all metadata of an image of staged directories, without an upper disk. See [`View::open_staged`].
    ///
    /// # Errors
    /// If the image cannot be read, or does not have these directories.
    pub fn open_staged_image(image: R, targets: &[Vec<u8>]) -> Result<Self, OpenError> {
        let view = Self::open_image(image, Vec::new())?;
        Ok(Self {
            image: StagedImage::new(view.image, targets)?.tree,
            ..view
        })
    }

    /// Reads all metadata of a native root, and of the image that it was made of. The image is not below it:
    /// every inode is the upper disk's alone. The disk's metadata takes about `metadata_bytes` of memory at most.
    ///
    /// # Errors
    /// If a disk cannot be read, the upper disk has no root, or its metadata is larger.
    pub fn open_native(
        upper: R,
        fsmeta: R,
        layers: Vec<R>,
        metadata_bytes: u64,
    ) -> Result<Self, OpenError> {
        let upper = open_disk(upper, metadata_bytes)?;
        let mut tree = upper.read_tree().map_err(read_error)?;
        // What lies beside the root's directory has no name any more.
        let shown = upper_directory(&tree, b"upper")?;
        let root = tree.root();
        let inode = tree.inode(shown).clone();
        *tree.inode_mut(root) = inode;
        let Ok(tree) = tree.try_map(|data| Ok::<_, Infallible>(Content::Upper(data)));
        let merged = Merged {
            origins: vec![Origin::upper(None); tree.len()],
            tree,
        };
        let image = Self::open_image(fsmeta, layers)?;
        Ok(Self {
            sandbox: Some(Above { upper, merged }),
            ..image
        })
    }

    /// Reads all metadata of the image whose devices are `layers`, without an upper disk.
    ///
    /// # Errors
    /// If the image cannot be read.
    pub fn open_image(fsmeta: R, layers: Vec<R>) -> Result<Self, OpenError> {
        let lower = erofs_writer::Image::open(fsmeta).map_err(OpenError::Lower)?;
        let tree = lower.read_tree().map_err(OpenError::ReadLower)?;
        Ok(Self {
            lower,
            layers,
            image: shown_image(tree),
            base: None,
            sandbox: None,
        })
    }

    /// Returns the tree of all files.
    pub fn tree(&self) -> &Tree<Content> {
        let above = self.sandbox.as_ref();
        above.map_or(&self.image, |above| &above.merged.tree)
    }

    /// Removes a name from [`View::tree`] if it leads to an empty directory that the upper disk alone has.
    /// Returns true if the name was removed. The disks and the image's tree keep what they have.
    pub fn leave_out_empty(&mut self, parent: &[u8], name: &[u8]) -> bool {
        let Some(Above { merged, .. }) = &mut self.sandbox else {
            return false;
        };
        let (tree, origins) = (&mut merged.tree, &merged.origins);
        let Ok(parent) = resolve(tree, parent, true) else {
            return false;
        };
        let Some(id) = tree.lookup(parent, name) else {
            return false;
        };
        let origin = origins[id.index()];
        let is_empty = tree.directory(id).is_some_and(Directory::is_empty);
        is_empty && origin.is_upper && origin.lower.is_none() && tree.unlink(parent, name).is_some()
    }

    /// Returns the tree of the image's files, as an empty upper disk would show it.
    pub const fn image(&self) -> &Tree<Content> {
        &self.image
    }

    /// Returns the tree that the sandbox's changes are compared with: that of the image, and the files that were
    /// [let in](View::let_in). Inodes of the image keep their identifiers, and the others have higher ones.
    pub fn base(&self) -> &Tree<Content> {
        self.base.as_ref().unwrap_or(&self.image)
    }

    /// Returns the disks that an inode of [`View::tree`] comes from.
    pub fn origin(&self, id: InodeId) -> Origin {
        let above = self.sandbox.as_ref();
        above.map_or(Origin::image(id), |above| above.merged.origins[id.index()])
    }

    /// Returns the file at a path, as a process sees it whose root and working directory are the
    /// tree's root. A slash at the end of the path requires a directory.
    ///
    /// # Errors
    /// If the path does not lead to a file.
    pub fn resolve(&self, path: &[u8], follow_last: bool) -> Result<InodeId, ResolveError> {
        resolve(self.tree(), path, follow_last)
    }

    /// Returns the ranges of a file that hold data, in ascending order.
    pub fn segments(&self, content: &Content) -> Vec<Segment> {
        match (content, &self.sandbox) {
            (Content::Upper(data), Some(above)) if data.inline.is_none() => {
                let written = data.extents.iter().filter(|extent| extent.is_written);
                let runs = written.map(|extent| (extent.file_block, extent.blocks));
                let block_bytes = above.upper.superblock().block_bytes;
                segments(data.size_bytes, block_bytes, runs)
            }
            (Content::Lower(data), _) if data.inline_offset_bytes.is_none() => {
                let runs = data.extents.iter();
                let runs = runs.map(|extent| (extent.file_block, extent.blocks));
                segments(data.size_bytes, self.lower.block_size_bytes(), runs)
            }
            (other, _) => Segment::whole_file(other.size_bytes()),
        }
    }

    /// Returns the runs of blocks of the upper disk, of [`BLOCK_SIZE_BYTES`] each, that are a file's content,
    /// beside its holes. `None` if a part of it lies elsewhere.
    pub fn upper_extents<'a>(&self, content: &'a Content) -> Option<&'a [ext4_writer::Extent]> {
        let (Content::Upper(data), Some(above)) = (content, &self.sandbox) else {
            return None;
        };
        let has_such_blocks = above.upper.superblock().block_bytes == BLOCK_SIZE_BYTES;
        above.upper.blocks_of(data).filter(|_| has_such_blocks)
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
        match (content, &self.sandbox) {
            (Content::Upper(data), Some(above)) => {
                let mut reader = above.upper.file_reader(data);
                reader.seek_to(offset_bytes);
                Ok(reader.read_exact(buffer))
            }
            (Content::Lower(data), _) => {
                let layers = self.layers.iter();
                let devices: Vec<&dyn ReadAt> =
                    layers.map(|layer| -> &dyn ReadAt { layer }).collect();
                let mut reader = self.lower.file_reader(data, &devices);
                reader.seek_to(offset_bytes);
                Ok(reader.read_exact(buffer))
            }
            (Content::Upper(_), None) | (Content::Lost { .. }, _) => Err(ContentError::Lost),
        }
    }
}

impl<R: ReadAt + Clone> View<R> {
    /// Adds files of the host to [`View::base`] that were let into staged directories. Each image has a directory
    /// for each of `targets`, as the image of the staged directories has, with the files that were let in
    /// together; a later one goes before an earlier one. A file that the sandbox does not have is not added.
    ///
    /// # Errors
    /// If an image cannot be read, or does not have these directories.
    pub fn let_in(&mut self, images: Vec<R>, targets: &[Vec<u8>]) -> Result<(), OpenError> {
        let Some(above) = &self.sandbox else {
            return Ok(());
        };
        let mut base = self.image.clone();
        for image in images {
            let opened = erofs_writer::Image::open(image.clone()).map_err(OpenError::Lower)?;
            let tree = opened.read_tree().map_err(OpenError::ReadLower)?;
            let tree = StagedImage::new(shown_image(tree), targets)?.tree;
            self.layers.push(image);
            let device = u16::try_from(self.layers.len()).map_err(|_| OpenError::NoStaged)?;
            let given = Given {
                tree: &tree,
                device,
            };
            given.add_to(&mut base, &above.merged);
        }
        self.base = Some(base);
        Ok(())
    }
}
