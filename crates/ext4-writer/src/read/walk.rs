use std::collections::HashMap;

use fstree::FileType;

use super::dirent::DirEntry;
use super::node::{Body, Node};
use super::node_reader::NodeReader;
use super::{Fault, Image, ReadAt, ReadError, Structure};
use crate::directory::code;
use crate::format::{ROOT_INODE, SUPERBLOCK_OFFSET};

/// Walk over every inode that has a name: the root, then the inodes that each directory names, in
/// the order of its entries. No inode is visited twice, so the image's size bounds the time.
#[derive(Debug)]
pub(crate) struct Nodes<'image, R> {
    reader: NodeReader<'image, R>,
    image: &'image Image<R>,
    found: Vec<Found>,
    places: HashMap<u32, usize>,
    next: usize,
}

#[derive(Debug, Clone, Copy)]
struct Found {
    number: u32,
    /// File type in the entry of the first name; 0 if the directory does not record types.
    file_type: u8,
    has_second_name: bool,
    /// True if the inode was read and is a directory.
    is_directory: bool,
}

impl<'image, R: ReadAt> Nodes<'image, R> {
    pub(crate) fn new(image: &'image Image<R>) -> Self {
        Self {
            reader: NodeReader::new(image),
            image,
            found: vec![Found::new(ROOT_INODE, code(FileType::Directory))],
            places: HashMap::from([(ROOT_INODE, 0)]),
            next: 0,
        }
    }

    /// Returns the next inode; `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<Node>, ReadError> {
        let Some(found) = self.found.get_mut(self.next) else {
            return Ok(None);
        };
        let number = found.number;
        let node = self.reader.read(number)?;
        let fault = if found.contradicts(node.inode.file_type) {
            let file_type = found.file_type;
            Some(Fault::EntryType { number, file_type })
        } else {
            found.is_directory = node.inode.file_type == FileType::Directory;
            let has_two = found.is_directory && found.has_second_name;
            has_two.then_some(Fault::SecondDirectoryName { number })
        };
        if let Some(fault) = fault {
            return Err(Structure::Inode(number).corrupt(node.inode.offset_bytes, fault));
        }
        self.next += 1;
        if let Body::Directory(entries) = &node.body {
            for entry in entries.iter().filter(|entry| !entry.is_dots()) {
                self.discover(entry).map_err(|fault| {
                    Structure::Directory(number).corrupt(node.inode.offset_bytes, fault)
                })?;
            }
        }
        Ok(Some(node))
    }

    /// Returns the number of inodes visited before this one; `None` if it has no name.
    pub(crate) fn place(&self, number: u32) -> Option<usize> {
        self.places.get(&number).copied()
    }

    /// Reads an inode that has no name, with the same checks.
    pub(crate) fn hidden(&mut self, number: u32) -> Result<Node, ReadError> {
        if number > self.image.layout.disk.s_inodes_count.get() {
            let fault = Fault::InodeNumber { number };
            return Err(Structure::SuperBlock.corrupt(SUPERBLOCK_OFFSET, fault));
        }
        self.reader.read(number)
    }

    fn discover(&mut self, entry: &DirEntry) -> Result<(), Fault> {
        let DirEntry {
            inode: number,
            file_type,
            ..
        } = *entry;
        let layout = &self.image.layout;
        if !(layout.first_inode..=layout.disk.s_inodes_count.get()).contains(&number) {
            return Err(Fault::InodeNumber { number });
        }
        let Some(&place) = self.places.get(&number) else {
            self.places.insert(number, self.found.len());
            self.found.push(Found::new(number, file_type));
            return Ok(());
        };
        let found = &mut self.found[place];
        if found.file_type != file_type {
            return Err(Fault::EntryType { number, file_type });
        }
        if found.is_directory || file_type == code(FileType::Directory) {
            return Err(Fault::SecondDirectoryName { number });
        }
        found.has_second_name = true;
        Ok(())
    }
}

impl Found {
    const fn new(number: u32, file_type: u8) -> Self {
        Self {
            number,
            file_type,
            has_second_name: false,
            is_directory: false,
        }
    }

    fn contradicts(&self, file_type: FileType) -> bool {
        self.file_type != 0 && self.file_type != code(file_type)
    }
}
