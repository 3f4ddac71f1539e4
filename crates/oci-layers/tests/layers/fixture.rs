//! Content in memory, and short functions for reading and merging.

use std::convert::Infallible;
use std::io::Read;

use fstree::{DataSink, FileData, Run, Tree};
use oci_layers::{Layer, LayerError, Limits, merge, read_layer};
use testkit::{Content, TarBuilder, TarEntry, TreeDump};

pub(crate) const BLOCK_BYTES: u64 = 4096;

/// A device in memory. Its blocks count from 1, so that a wrong 0 is noticed.
#[derive(Debug, Default)]
pub(crate) struct MemorySink {
    bytes: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
#[error("the content is short")]
pub(crate) struct ShortContent(#[from] std::io::Error);

impl DataSink for MemorySink {
    type Error = ShortContent;

    fn append(
        &mut self,
        content: &mut dyn Read,
        length_bytes: u64,
    ) -> Result<Option<Run>, ShortContent> {
        let length = usize::try_from(length_bytes).expect("tests are small");
        let mut bytes = vec![0; length];
        content.read_exact(&mut bytes)?;
        let start = u64::try_from(self.bytes.len()).expect("fits") / BLOCK_BYTES + 1;
        let blocks = length_bytes.div_ceil(BLOCK_BYTES);
        bytes.resize(usize::try_from(blocks * BLOCK_BYTES).expect("fits"), 0);
        self.bytes.extend(bytes);
        Ok((blocks > 0).then(|| Run {
            start_block: u32::try_from(start).expect("tests are small"),
            blocks,
        }))
    }
}

/// Returns a file's bytes; `device` finds the device of an extent.
pub(crate) fn bytes_of<'a>(data: &FileData, device: impl Fn(u16) -> &'a MemorySink) -> Vec<u8> {
    let index = |blocks: u64| usize::try_from(blocks * BLOCK_BYTES).expect("tests are small");
    let size = usize::try_from(data.size_bytes).expect("tests are small");
    let mut bytes = vec![0; size.next_multiple_of(4096)];
    for extent in &data.extents {
        let source = index(u64::from(extent.start_block) - 1);
        let target = index(extent.file_block);
        let length = index(extent.blocks);
        let stored = &device(extent.device).bytes[source..source + length];
        bytes[target..target + length].copy_from_slice(stored);
    }
    assert!(
        bytes[size..].iter().all(|&byte| byte == 0),
        "padding is zero"
    );
    bytes.truncate(size);
    bytes
}

pub(crate) fn read(tar: &[u8]) -> Result<(Layer, MemorySink), LayerError> {
    let mut sink = MemorySink::default();
    let layer = read_layer(tar, &Limits::default(), &mut sink)?;
    Ok((layer, sink))
}

pub(crate) fn read_entries(entries: impl IntoIterator<Item = TarEntry>) -> Layer {
    read(&TarBuilder::archive(entries))
        .expect("the layer is valid")
        .0
}

/// Returns an error and all its sources as text.
pub(crate) fn message(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// Reads and merges archives; returns the first error, if any.
pub(crate) fn image(tars: &[Vec<u8>]) -> Result<TreeDump, String> {
    let (mut trees, mut sinks) = (Vec::new(), Vec::new());
    for tar in tars {
        let (layer, sink) = read(tar).map_err(|error| message(&error))?;
        trees.push(layer.tree);
        sinks.push(sink);
    }
    let trees = trees.into_iter().map(Ok::<_, Infallible>);
    let merged = merge(trees, &Limits::default()).map_err(|error| message(&error))?;
    Ok(dump(&merged.tree, |device| &sinks[usize::from(device) - 1]))
}

pub(crate) fn image_of(layers: &[&[TarEntry]]) -> Result<TreeDump, String> {
    let tars = layers
        .iter()
        .map(|layer| TarBuilder::archive(layer.iter().cloned()));
    image(&tars.collect::<Vec<_>>())
}

pub(crate) fn dump<'a>(tree: &Tree<FileData>, device: impl Fn(u16) -> &'a MemorySink) -> TreeDump {
    TreeDump::from_tree(tree, |data| {
        Content::read(bytes_of(data, &device).as_slice())
    })
    .expect("memory does not fail")
}

/// Returns the first columns of a dump: path and type, target, first link.
pub(crate) fn names(dump: &TreeDump) -> Vec<String> {
    let text = dump.to_string();
    let lines = text.lines().map(|line| {
        let fields: Vec<_> = line.split(' ').collect();
        let mut shown = format!("{} {}", fields[0], fields[1]);
        for field in [fields[7], fields[8]] {
            if field != "-" {
                shown.push(' ');
                shown.push_str(field);
            }
        }
        shown
    });
    lines.collect()
}
