//! Images of layers that are made of trees.

use std::convert::Infallible;
use std::io::Read;

use fstree::{DataSink, FileData, FileKind, Metadata, Run, Tree};
use oci_layers::{Limits, merge, read_layer};
use testkit::{Content, TreeDump};
use tree_diff::{InMemory, LayerError, LayerOptions, LayerPlan, Unrelated, WrittenLayer};

use crate::trees::Files;

const BLOCK_BYTES: usize = 4096;

/// A device in memory. Its blocks count from 1.
#[derive(Debug, Default)]
struct MemorySink(Vec<u8>);

impl DataSink for MemorySink {
    type Error = std::io::Error;

    fn append(
        &mut self,
        content: &mut dyn Read,
        length_bytes: u64,
    ) -> std::io::Result<Option<Run>> {
        let start = self.0.len() / BLOCK_BYTES + 1;
        content.take(length_bytes).read_to_end(&mut self.0)?;
        let end = self.0.len().next_multiple_of(BLOCK_BYTES);
        self.0.resize(end, 0);
        let blocks = (end / BLOCK_BYTES + 1 - start) as u64;
        let start_block = u32::try_from(start).expect("tests are small");
        Ok((blocks > 0).then_some(Run {
            start_block,
            blocks,
        }))
    }
}

fn bytes_of(data: &FileData, sinks: &[MemorySink]) -> Vec<u8> {
    let size = usize::try_from(data.size_bytes).expect("tests are small");
    let mut bytes = vec![0; size.next_multiple_of(BLOCK_BYTES)];
    for extent in &data.extents {
        let at = |block: u64| usize::try_from(block).expect("tests are small") * BLOCK_BYTES;
        let (from, to) = (
            at(extent.start_block.into()) - BLOCK_BYTES,
            at(extent.file_block),
        );
        let stored = &sinks[usize::from(extent.device) - 1].0[from..from + at(extent.blocks)];
        bytes[to..to + stored.len()].copy_from_slice(stored);
    }
    bytes.truncate(size);
    bytes
}

pub(crate) type LayerResult = Result<WrittenLayer<Vec<u8>>, LayerError<std::io::Error>>;

/// Writes the layer that makes one tree of the other.
pub(crate) fn layer(old: &Files, new: &Files, options: LayerOptions) -> LayerResult {
    let (old, new) = (InMemory(old.clone()), InMemory(new.clone()));
    LayerPlan::new(&old, &new, &Unrelated, options)?.write(&new, Vec::new())
}

/// Returns the layer of all files of a tree.
pub(crate) fn base(tree: &Files) -> LayerResult {
    let mut root = Metadata::directory(0);
    root.mtime.seconds = -1;
    layer(&Tree::new(root), tree, LayerOptions::default())
}

/// Returns the image of these layers, as msb makes it.
pub(crate) fn image(tars: &[&[u8]]) -> TreeDump {
    let (mut trees, mut sinks) = (Vec::new(), Vec::new());
    for tar in tars {
        let mut sink = MemorySink::default();
        let read = read_layer(*tar, &Limits::default(), &mut sink).expect("a valid layer");
        trees.push(Ok::<_, Infallible>(read.tree));
        sinks.push(sink);
    }
    let merged = merge(trees, &Limits::default()).expect("valid layers");
    let dump = TreeDump::from_tree(&merged.tree, |data| {
        Content::read(bytes_of(data, &sinks).as_slice())
    });
    dump.expect("memory does not fail")
}

/// Returns a tree as an image can have it: without sockets, and with attributes of symlinks as a
/// kernel has them.
pub(crate) fn dump(tree: &Files) -> TreeDump {
    let mut tree = tree.clone();
    let sockets: Vec<_> = tree
        .links()
        .filter(|link| matches!(tree.inode(link.id).kind, FileKind::Socket))
        .map(|link| (link.parent, link.name.clone()))
        .collect();
    for (parent, name) in sockets {
        tree.unlink(parent, name.as_bytes());
    }
    let ids: Vec<_> = tree.links().map(|link| link.id).collect();
    for id in ids {
        let inode = tree.inode_mut(id);
        if matches!(inode.kind, FileKind::Symlink(_)) {
            inode.metadata.mode = 0o777;
        }
        if !matches!(inode.kind, FileKind::Regular(_) | FileKind::Directory(_)) {
            let xattrs = &mut inode.metadata.xattrs;
            xattrs.retain(|name, _| !name.starts_with(b"user."));
        }
    }
    TreeDump::from_tree(&tree, |content| Content::read(content.as_slice())).expect("in memory")
}

/// Asserts that a layer makes the new tree of the old one, and that it is the same each time.
/// Returns the layer.
pub(crate) fn assert_layered(old: &Files, new: &Files) -> Vec<u8> {
    let below = base(old).expect("a layer").out;
    let above = layer(old, new, LayerOptions::default())
        .expect("a layer")
        .out;
    let again = layer(old, new, LayerOptions::default())
        .expect("a layer")
        .out;
    assert!(above == again, "the layer differs from time to time");
    let differences = image(&[&below, &above]).differences(&dump(new));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    above
}

/// Returns the entries of a layer: the letter of the type and the path, and a link's target.
pub(crate) fn entries(tar: &[u8]) -> Vec<String> {
    let mut archive = tar_stream::ArchiveReader::new(tar, tar_stream::Limits::default());
    let mut lines = Vec::new();
    while let Some(entry) = archive.next_entry().expect("a valid archive") {
        let mut line = entry.path.escape_ascii().to_string();
        if !entry.link.is_empty() {
            line += &format!(" -> {}", entry.link.escape_ascii());
        }
        lines.push(line);
    }
    lines
}
