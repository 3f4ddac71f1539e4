use std::collections::HashMap;

use fstree::FileType;

use crate::block_size::BlockSize;
use crate::read::{Body, Corrupt, Fault, Image, Node, Nodes, ReadAt, ReadError, Structure};
use crate::region::{Region, sort};

/// The contents of an intact image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Number of inodes of every type.
    pub inodes: u64,
    /// Number of directories, including the root.
    pub directories: u64,
    /// Number of regular files.
    pub regular_files: u64,
    /// Length of the metadata in bytes, without padding.
    pub metadata_bytes: u64,
    /// Total length of the files' content in bytes, including holes.
    pub content_bytes: u64,
}

/// A reason why an image is not intact.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// A structure of the image cannot be read.
    #[error("cannot read the image to its end")]
    Read(#[from] ReadError),
    /// Two structures of the image contradict each other.
    #[error("the image is inconsistent")]
    Inconsistent(#[source] Corrupt),
}

/// The facts from the inodes and names that have been read.
#[derive(Debug, Default)]
struct Ledger {
    report: Report,
    parents: HashMap<u64, u64>,
    links: HashMap<u64, Links>,
    metadata: Vec<Region>,
    data: Vec<Region>,
}

#[derive(Debug, Default)]
struct Links {
    stored: u32,
    counted: u64,
    offset_bytes: u64,
}

impl<R: ReadAt> Image<R> {
    /// Reads every structure and checks that they agree.
    ///
    /// It checks the order of names, `.` and `..`, the link and inode counts, the xattr filters,
    /// that every extent is on its device, that no metadata overlaps other metadata or file data,
    /// and that the bytes behind the end of each file in the image itself are zero.
    ///
    /// File data is not read: no structure of an image holds a checksum of it.
    pub fn verify(&self) -> Result<Report, VerifyError> {
        let superblock = |fault| inconsistent(Structure::SuperBlock, 1024, fault);
        let size_bytes = self.size_bytes;
        if size_bytes < self.block_size.offset_bytes(self.disk.blocks.get()) {
            return Err(superblock(Fault::Truncated { size_bytes }));
        }
        let root = u64::from(self.disk.root_nid.get());
        let mut ledger = Ledger {
            metadata: Region::of_head(self),
            parents: HashMap::from([(root, root)]),
            ..Ledger::default()
        };
        let mut nodes = Nodes::new(self);
        while let Some(node) = nodes.next()? {
            ledger.enter(&node, self.block_size)?;
            self.check_padding(&node)?;
        }
        let counted = ledger.report.inodes;
        let stored = self.disk.inos.get();
        if stored != counted {
            return Err(superblock(Fault::InodeCount { stored, counted }));
        }
        ledger.close()
    }

    /// Checks that the bytes between a file's end and the end of its last block are zero. A memory
    /// map shows them to a program.
    fn check_padding(&self, node: &Node) -> Result<(), VerifyError> {
        let Body::Regular(data) = &node.body else {
            return Ok(());
        };
        let block_bytes = self.block_size.bytes();
        let used_bytes = data.size_bytes % block_bytes;
        let last = data.extents.last();
        let last = last.filter(|last| {
            let end = last.file_block + last.blocks;
            last.device == 0 && used_bytes > 0 && end == data.size_bytes / block_bytes + 1
        });
        let Some(last) = last else {
            return Ok(());
        };
        let end = self.block_size.offset_bytes(last.start_block) + last.blocks * block_bytes;
        let length_bytes = block_bytes - used_bytes;
        let mut padding = vec![0; usize::try_from(length_bytes).unwrap_or(0)];
        let offset_bytes = end - length_bytes;
        self.source
            .read_exact_at(&mut padding, offset_bytes)
            .map_err(|source| ReadError::Io {
                device: 0,
                offset_bytes,
                source,
            })?;
        if padding.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        let structure = Structure::FileData(node.nid);
        Err(inconsistent(structure, offset_bytes, Fault::Padding))
    }
}

impl Ledger {
    fn enter(&mut self, node: &Node, block_size: BlockSize) -> Result<(), VerifyError> {
        self.report.inodes += 1;
        let links = self.links.entry(node.nid).or_default();
        links.stored = node.inode.nlink;
        links.offset_bytes = node.spans.inode.start;
        self.metadata.extend(Region::of_node(node));
        self.data.extend(Region::of_data(node, block_size));
        match &node.body {
            Body::Directory(_) => self.enter_directory(node)?,
            Body::Regular(data) => {
                self.report.regular_files += 1;
                let content_bytes = self.report.content_bytes;
                self.report.content_bytes = content_bytes.saturating_add(data.size_bytes);
            }
            _ => {}
        }
        Ok(())
    }

    fn enter_directory(&mut self, node: &Node) -> Result<(), VerifyError> {
        let Body::Directory(entries) = &node.body else {
            return Ok(());
        };
        self.report.directories += 1;
        let directory = crate::dirent::file_type_code(FileType::Directory);
        let parent = self.parents.get(&node.nid).copied();
        let mut dots = entries.iter().filter(|entry| entry.is_dots());
        let [own, up] = [dots.next(), dots.next()]
            .map(|entry| entry.filter(|e| e.file_type == directory).map(|e| e.nid));
        if own != Some(node.nid) || up.is_none() || up != parent {
            let structure = Structure::Directory(node.nid);
            return Err(inconsistent(structure, node.spans.inode.start, Fault::Dots));
        }
        for entry in entries {
            self.links.entry(entry.nid).or_default().counted += 1;
            if entry.file_type == directory && !entry.is_dots() {
                self.parents.insert(entry.nid, node.nid);
            }
        }
        Ok(())
    }

    fn close(mut self) -> Result<Report, VerifyError> {
        for (&nid, links) in &self.links {
            if u64::from(links.stored) != links.counted {
                let fault = Fault::Links {
                    stored: links.stored,
                    counted: links.counted,
                };
                return Err(inconsistent(
                    Structure::Inode(nid),
                    links.offset_bytes,
                    fault,
                ));
            }
        }
        sort(&mut self.metadata);
        for pair in self.metadata.windows(2) {
            if pair[1].range.start < pair[0].range.end {
                return Err(overlap(&pair[1], &pair[0]));
            }
        }
        for data in &self.data {
            let next = self
                .metadata
                .partition_point(|region| region.range.end <= data.range.start);
            if let Some(region) = self.metadata.get(next)
                && region.range.start < data.range.end
            {
                return Err(overlap(data, region));
            }
        }
        let lengths = self
            .metadata
            .iter()
            .map(|region| region.range.end - region.range.start);
        self.report.metadata_bytes = lengths.sum();
        Ok(self.report)
    }
}

fn overlap(region: &Region, earlier: &Region) -> VerifyError {
    let fault = Fault::Overlap {
        offset_bytes: earlier.range.start,
    };
    inconsistent(region.structure, region.range.start, fault)
}

fn inconsistent(structure: Structure, offset_bytes: u64, fault: Fault) -> VerifyError {
    VerifyError::Inconsistent(Corrupt::new(structure, offset_bytes, fault))
}
