//! Images as text: every structure, its meaning, and the location of data.

mod bits;
mod inodes;
mod page;
mod structures;

use std::collections::HashMap;
use std::fmt;

use crate::read::{Body, Image, Node, Nodes, ReadAt, ReadError, Structure};
use crate::verify::{Region, Usage, VerifyError};
use page::Page;

/// An error while an image is dumped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// The structures of the image cannot be read, or they overlap.
    #[error("cannot read the image to its end")]
    Image(#[from] VerifyError),
    /// The text cannot be written.
    #[error("cannot write the dump")]
    Output(#[from] fmt::Error),
}

impl From<ReadError> for DumpError {
    fn from(error: ReadError) -> Self {
        Self::Image(error.into())
    }
}

/// First name of each inode, by the inode's number.
#[derive(Debug, Default)]
struct Names(HashMap<u32, String>);

impl<R: ReadAt> Image<R> {
    /// Writes the whole image as text, in the order of its blocks. Fields that are zero are
    /// omitted. Each structure is shown with the CRC-32C of its blocks, so that a change of any
    /// byte shows. Unused blocks are omitted.
    ///
    /// # Errors
    /// If the image cannot be read or the output fails.
    pub fn dump(&self, out: &mut dyn fmt::Write) -> Result<(), DumpError> {
        let mut usage = Usage::read_groups(self)?;
        let mut names = Names(HashMap::from([(crate::format::ROOT_INODE, "/".to_owned())]));
        let mut nodes = Nodes::new(self);
        while let Some(node) = nodes.next()? {
            names.enter(&node);
            usage.enter(&node);
        }
        usage.enter_hidden(self, &mut nodes)?;
        usage.sort(self.layout.block_size())?;
        let mut page = Page { image: self, out };
        for region in &usage.regions {
            page.region(region, &names)?;
        }
        Ok(())
    }
}

impl Names {
    fn enter(&mut self, node: &Node) {
        let Body::Directory(entries) = &node.body else {
            return;
        };
        for entry in entries.iter().filter(|entry| !entry.is_dots()) {
            let name = || entry.name.escape_ascii().to_string();
            self.0.entry(entry.inode).or_insert_with(name);
        }
    }

    fn name(&self, number: u32) -> &str {
        self.0.get(&number).map_or("", String::as_str)
    }
}

impl<R: ReadAt> Page<'_, '_, R> {
    fn region(&mut self, region: &Region, names: &Names) -> Result<(), DumpError> {
        let Region {
            start_block,
            blocks,
            structure,
        } = *region;
        write!(self.out, "block {start_block}, {blocks} long: {structure}")?;
        if let Some(number) = structure.inode() {
            write!(self.out, " \"{}\"", names.name(number))?;
        }
        writeln!(self.out)?;
        let crc = self.crc32c(region)?;
        self.field("crc32c", &format_args!("{crc:#010x}"))?;
        match structure {
            Structure::SuperBlock => self.superblock(),
            Structure::SuperBlockCopy(group) => self.superblock_copy(group),
            Structure::Descriptors(0) => self.descriptors(),
            Structure::BlockBitmap(group) => self.block_bitmap(group),
            Structure::InodeBitmap(group) => self.inode_bitmap(group),
            Structure::InodeTable(group) => self.inode_table(group, names),
            Structure::ExtentTree(_) => self.extent_node(&self.image.blocks.block(start_block)?),
            Structure::Directory(_) => self.directory(region),
            Structure::Symlink(_) => {
                let target = self.image.blocks.block(start_block)?;
                self.text("target", &target)
            }
            Structure::Xattrs(_) => {
                let bytes = self.image.blocks.block(start_block)?;
                self.xattr_block(&bytes)
            }
            Structure::FileData(number) if number == self.journal() => self.journal_head(region),
            _ => Ok(()),
        }
    }

    fn journal(&self) -> u32 {
        self.image.layout.disk.s_journal_inum.get()
    }
}
