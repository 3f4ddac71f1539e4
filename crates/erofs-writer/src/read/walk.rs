use std::collections::HashMap;

use fstree::FileType;

use super::node_reader::NodeReader;
use super::{Body, Fault, Image, Node, ReadAt, ReadError, Structure};
use crate::dirent::file_type_code;

/// Every inode that names reach, once. The root comes first, then the entries of each directory, in
/// the order of [`crate::ImageWriter`]. No inode is read twice, so the image's size bounds the
/// time.
#[derive(Debug)]
pub(crate) struct Nodes<'image, R> {
    reader: NodeReader<'image, R>,
    found: Vec<Found>,
    places: HashMap<u64, usize>,
    next: usize,
}

#[derive(Debug, Clone, Copy)]
struct Found {
    nid: u64,
    file_type: u8,
}

impl<'image, R: ReadAt> Nodes<'image, R> {
    pub(crate) fn new(image: &'image Image<R>) -> Self {
        let root = u64::from(image.disk.root_nid.get());
        Self {
            reader: NodeReader::new(image),
            found: vec![Found {
                nid: root,
                file_type: file_type_code(FileType::Directory),
            }],
            places: HashMap::from([(root, 0)]),
            next: 0,
        }
    }

    /// Reads the next inode. `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<Node>, ReadError> {
        let Some(&Found { nid, file_type }) = self.found.get(self.next) else {
            return Ok(None);
        };
        self.next += 1;
        let node = self.reader.read(nid)?;
        if file_type != file_type_code(node.file_type) {
            let fault = Fault::EntryType { nid, file_type };
            return Err(Structure::Inode(nid).corrupt(node.spans.inode.start, fault));
        }
        self.discover(&node)?;
        Ok(Some(node))
    }

    /// Returns the number of inodes before `nid` in this order. `None` if no name reaches it.
    pub(crate) fn place(&self, nid: u64) -> Option<usize> {
        self.places.get(&nid).copied()
    }

    fn discover(&mut self, node: &Node) -> Result<(), ReadError> {
        let Body::Directory(entries) = &node.body else {
            return Ok(());
        };
        let directory = file_type_code(FileType::Directory);
        for entry in entries.iter().filter(|entry| !entry.is_dots()) {
            let found = Found {
                nid: entry.nid,
                file_type: entry.file_type,
            };
            let fault = match self.places.get(&entry.nid) {
                None => {
                    self.places.insert(entry.nid, self.found.len());
                    self.found.push(found);
                    continue;
                }
                Some(&place) if self.found[place].file_type != entry.file_type => {
                    Fault::EntryType {
                        nid: entry.nid,
                        file_type: entry.file_type,
                    }
                }
                Some(_) if entry.file_type == directory => {
                    Fault::SecondDirectoryName { nid: entry.nid }
                }
                Some(_) => continue,
            };
            let structure = Structure::Directory(node.nid);
            return Err(structure.corrupt(node.spans.inode.start, fault));
        }
        Ok(())
    }
}
