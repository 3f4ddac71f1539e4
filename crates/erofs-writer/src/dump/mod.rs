//! An image as text: every byte of its metadata, its meaning, and the location of data.

mod content;
mod page;
mod structures;

use std::collections::HashMap;
use std::fmt;

use page::Page;

use crate::block_size::BlockSize;
use crate::read::{Body, Image, Node, Nodes, ReadAt, ReadError, Structure};
use crate::region::{Region, sort};

/// Bytes that are read at a time if only a digest or zeros matter.
const PIECE_BYTES: u64 = 64 * 1024;

/// A reason why an image cannot be dumped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// A structure of the image cannot be read.
    #[error("cannot read the image to its end")]
    Read(#[from] ReadError),
    /// The output for the text failed.
    #[error("cannot write the dump")]
    Output(#[from] fmt::Error),
}

/// Facts about structures that their own bytes do not hold.
#[derive(Debug, Default)]
struct Index {
    regions: Vec<Region>,
    /// First name of each inode, by `nid`.
    names: HashMap<u64, String>,
    /// The chunk format of each inode that has a chunk map, by `nid`.
    chunk_formats: HashMap<u64, u32>,
}

impl<R: ReadAt> Image<R> {
    /// Writes the whole image as text, in the order of its bytes.
    ///
    /// All metadata is shown. Bytes without a meaning are shown unless they are zero. File data is
    /// shown as ranges, each with its crc32c.
    pub fn dump(&self, out: &mut dyn fmt::Write) -> Result<(), DumpError> {
        let mut index = Index {
            regions: Region::of_head(self),
            ..Index::default()
        };
        let root = u64::from(self.disk.root_nid.get());
        index.names.insert(root, "/".into());
        let mut nodes = Nodes::new(self);
        while let Some(node) = nodes.next()? {
            index.enter(&node, self.block_size);
        }
        sort(&mut index.regions);

        let mut page = Page { image: self, out };
        let mut position = 0;
        for region in &index.regions {
            page.gap(position, region.range.start)?;
            page.region(region, &index, region.range.start >= position)?;
            position = position.max(region.range.end);
        }
        page.gap(position, self.size_bytes)
    }
}

impl Index {
    fn enter(&mut self, node: &Node, block_size: BlockSize) {
        self.regions.extend(Region::of_node(node));
        self.regions.extend(Region::of_data(node, block_size));
        if !node.spans.chunk_map.is_empty() {
            self.chunk_formats.insert(node.nid, node.inode.union);
        }
        if let Body::Directory(entries) = &node.body {
            for entry in entries.iter().filter(|entry| !entry.is_dots()) {
                let name = || entry.name.escape_ascii().to_string();
                self.names.entry(entry.nid).or_insert_with(name);
            }
        }
    }
}

impl<R: ReadAt> Page<'_, '_, R> {
    /// Writes one region. Data that overlaps data above is not read again: any number of files may
    /// share any part of it.
    fn region(&mut self, region: &Region, index: &Index, is_new: bool) -> Result<(), DumpError> {
        self.title(region, index)?;
        if let Structure::FileData(_) = region.structure {
            let length_bytes = region.range.end - region.range.start;
            let blocks = length_bytes / self.image.block_size_bytes();
            self.field("blocks", &blocks)?;
            if !is_new {
                return self.field("shared", &"with what is above");
            }
            let crc = self.crc32c(&region.range)?;
            return self.field("crc32c", &format_args!("{crc:#010x}"));
        }
        let bytes = self.bytes(&region.range)?;
        match region.structure {
            Structure::SuperBlock => self.superblock(&bytes),
            Structure::DeviceTable => self.device_table(&bytes),
            Structure::Inode(_) => self.inode(&bytes),
            Structure::Xattrs(_) => self.xattr_area(&bytes),
            Structure::SharedXattr => self.xattr_entries(&bytes),
            Structure::Directory(_) => self.directory(&bytes),
            Structure::ChunkMap(nid) => {
                let format = index.chunk_formats.get(&nid).copied().unwrap_or(0);
                self.chunk_map(&bytes, format)
            }
            Structure::InlineData(_) => {
                self.field("data", &format_args!("\"{}\"", bytes.escape_ascii()))
            }
            Structure::Symlink(_) | Structure::FileData(_) => self.target(&bytes),
        }
    }

    fn title(&mut self, region: &Region, index: &Index) -> Result<(), DumpError> {
        let (kind, nid) = match region.structure {
            Structure::SuperBlock => ("superblock", None),
            Structure::DeviceTable => ("device table", None),
            Structure::SharedXattr => ("shared xattr", None),
            Structure::Inode(nid) => ("inode", Some(nid)),
            Structure::Xattrs(nid) => ("xattrs", Some(nid)),
            Structure::Directory(nid) => ("directory", Some(nid)),
            Structure::Symlink(nid) => ("symlink", Some(nid)),
            Structure::ChunkMap(nid) => ("chunk map", Some(nid)),
            Structure::FileData(nid) => ("file data", Some(nid)),
            Structure::InlineData(nid) => ("inline data", Some(nid)),
        };
        let length_bytes = region.range.end - region.range.start;
        write!(self.out, "{:#010x} {kind}", region.range.start)?;
        if let Some(nid) = nid {
            let name = index.names.get(&nid).map_or("", String::as_str);
            write!(self.out, " of nid {nid} \"{name}\"")?;
        }
        writeln!(self.out, ", {length_bytes} bytes")?;
        Ok(())
    }
}
