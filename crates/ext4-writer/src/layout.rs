use fstree::Tree;

use crate::extent::Run;
use crate::geometry::Geometry;
use crate::outside::{Outside, OutsideRun};
use crate::plan::Plan;
use crate::space::Space;
use crate::write::write_layout;
use crate::{FileContent, Options, SparseOutput, Summary, WriteError};

/// The places of a tree's files in an image that is not written yet.
///
/// # Examples
/// The content of a file stays in another file, and the image has the rest:
/// ```
/// use std::io;
///
/// use ext4_writer::{FileContent, Layout, OpenedContent, Options, OutsideRun};
/// use fstree::{Extent, FileKind, Metadata, TreeBuilder};
///
/// struct Elsewhere([Extent; 1]);
///
/// impl FileContent for Elsewhere {
///     fn size_bytes(&self) -> u64 {
///         5000
///     }
///
///     fn open(&self) -> io::Result<OpenedContent<'_>> {
///         Err(io::ErrorKind::Unsupported.into())
///     }
///
///     fn outside(&self) -> Option<&[Extent]> {
///         Some(&self.0)
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let extent = Extent { file_block: 0, blocks: 2, device: 1, start_block: 70 };
/// let mut tree = TreeBuilder::new(Metadata::directory(0o755));
/// tree.file("large", Metadata::with_mode(0o644), Elsewhere([extent]))?;
/// let tree = tree.finish();
///
/// let options = Options { size_bytes: 64 << 20, ..Options::default() };
/// let layout = Layout::new(&tree, &options)?;
/// let [OutsideRun { blocks: 2, device: 1, device_block: 70, .. }] = layout.outside() else {
///     unreachable!()
/// };
/// layout.write(&tempfile::tempfile()?)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Layout<'a, C> {
    pub(crate) tree: &'a Tree<C>,
    pub(crate) options: &'a Options,
    pub(crate) geometry: Geometry,
    pub(crate) plan: Plan,
    pub(crate) space: Space,
    pub(crate) journal: Vec<Run>,
    pub(crate) outside: Outside,
}

impl<'a, C: FileContent> Layout<'a, C> {
    /// Finds the place of everything whose size is known before the content is opened: the metadata, the
    /// journal, which comes first so that it lies in one piece, and the content outside of the image.
    ///
    /// # Errors
    /// If ext4 cannot have the size or so many inodes, or the content outside of the image does not fit.
    pub fn new(tree: &'a Tree<C>, options: &'a Options) -> Result<Self, WriteError> {
        let geometry = Geometry::new(options)?;
        let plan = Plan::new(tree, geometry.inodes())?;
        let mut space = Space::new(geometry.clone());
        let journal = space.take(geometry.journal_blocks)?;
        let outside = Outside::allocate(tree, &plan, &mut space)?;
        Ok(Self {
            tree,
            options,
            geometry,
            plan,
            space,
            journal,
            outside,
        })
    }

    /// Returns the blocks that are not written, because other devices have their bytes: the longest runs,
    /// in ascending order.
    pub fn outside(&self) -> &[OutsideRun] {
        self.outside.runs()
    }

    /// Writes the image to a new output, without the blocks that [`Layout::outside`] returns.
    ///
    /// # Errors
    /// If ext4 cannot store a file, if a file's content cannot be read, or if the output fails. The output
    /// is then unusable.
    pub fn write(self, output: impl SparseOutput) -> Result<Summary, WriteError> {
        write_layout(self, output)
    }
}
