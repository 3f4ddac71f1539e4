use std::io::{self, Write};

use fstree::Metadata;
use oci_layers::tar::{BLOCK_BYTES, EntryKind, Segment};

use crate::header::{self, Records};

/// Bytes of content that are copied at a time.
const PIECE_BYTES: usize = 64 * 1024;
/// The most stretches of data that a sparse file is written in: a reader bounds its map. What comes
/// after is written as data, holes and all.
const SEGMENTS_MAX: usize = 1 << 14;

/// What an archive says of a file besides its content.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// Its path, `/` between the components.
    pub path: &'a [u8],
    /// What it is.
    pub kind: EntryKind,
    /// A symlink's target, or the path of an earlier entry that this is another name of.
    pub link: &'a [u8],
    /// Its attributes. Xattrs that do not travel are left out.
    pub metadata: &'a Metadata,
}

/// An archive that is being written. It is whole after [`ArchiveWriter::finish`].
#[derive(Debug)]
pub struct ArchiveWriter<W> {
    out: W,
    buffer: Vec<u8>,
}

impl<W: Write> ArchiveWriter<W> {
    /// An empty one.
    pub fn new(out: W) -> Self {
        Self {
            out,
            buffer: Vec::new(),
        }
    }

    /// Adds what has no content.
    ///
    /// # Errors
    /// What the output gives.
    pub fn entry(&mut self, head: &Head<'_>) -> io::Result<()> {
        let slashed;
        let path = match head.kind {
            EntryKind::Directory if !head.path.ends_with(b"/") => {
                slashed = [head.path, b"/"].concat();
                &slashed
            }
            _ => head.path,
        };
        self.head(head, path, &Records::of(head, path, 0), 0)
    }

    /// Adds a regular file. `segments` are where it holds data, in ascending order; between them are
    /// holes. `read` fills a buffer from a place in the file.
    ///
    /// # Errors
    /// What `read` and the output give.
    pub fn file(
        &mut self,
        head: &Head<'_>,
        size_bytes: u64,
        segments: Vec<Segment>,
        read: &mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let segments = bounded(segments, size_bytes);
        let data_bytes: u64 = segments.iter().map(|segment| segment.length_bytes).sum();
        let stored_bytes = if data_bytes == size_bytes {
            self.head(
                head,
                head.path,
                &Records::of(head, head.path, data_bytes),
                data_bytes,
            )?;
            data_bytes
        } else {
            let map = sparse_map(&segments, size_bytes);
            let stored_bytes = data_bytes + length_bytes(&map);
            let name = header::sparse_name(head.path);
            let mut records = Records::of(head, &name, stored_bytes);
            records.add_sparse(head.path, size_bytes);
            self.head(head, &name, &records, stored_bytes)?;
            self.out.write_all(&map)?;
            stored_bytes
        };
        for segment in segments {
            self.copy(segment, read)?;
        }
        self.pad(stored_bytes)
    }

    /// Ends the archive and gives the output back.
    ///
    /// # Errors
    /// What the output gives.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&[0; 2 * BLOCK_BYTES])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn head(
        &mut self,
        head: &Head<'_>,
        path: &[u8],
        records: &Records,
        stored_bytes: u64,
    ) -> io::Result<()> {
        let body = records.body();
        if !body.is_empty() {
            let length_bytes = length_bytes(body);
            self.out
                .write_all(&header::records_block(path, length_bytes))?;
            self.out.write_all(body)?;
            self.pad(length_bytes)?;
        }
        self.out.write_all(&header::block(head, path, stored_bytes))
    }

    fn copy(
        &mut self,
        segment: Segment,
        read: &mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.buffer.resize(PIECE_BYTES, 0);
        let mut done_bytes = 0;
        while done_bytes < segment.length_bytes {
            let left = usize::try_from(segment.length_bytes - done_bytes).unwrap_or(PIECE_BYTES);
            let piece = &mut self.buffer[..left.min(PIECE_BYTES)];
            read(segment.offset_bytes + done_bytes, piece)?;
            self.out.write_all(piece)?;
            done_bytes += length_bytes(piece);
        }
        Ok(())
    }

    fn pad(&mut self, length_bytes: u64) -> io::Result<()> {
        let block_bytes = BLOCK_BYTES as u64;
        let missing = length_bytes.next_multiple_of(block_bytes) - length_bytes;
        let zeros = [0; BLOCK_BYTES];
        self.out
            .write_all(&zeros[..usize::try_from(missing).unwrap_or(0)])
    }
}

/// No more segments than a reader takes, and none past the file's end.
fn bounded(mut segments: Vec<Segment>, size_bytes: u64) -> Vec<Segment> {
    if let Some(last) = segments.get_mut(SEGMENTS_MAX - 1) {
        last.length_bytes = size_bytes.saturating_sub(last.offset_bytes);
        segments.truncate(SEGMENTS_MAX);
    }
    segments.retain(|segment| segment.length_bytes > 0);
    segments
}

/// PAX 1.0: decimal lines, padded to a block. A file that ends with a hole has an empty segment at
/// its end, by which GNU tar knows how long it is.
fn sparse_map(segments: &[Segment], size_bytes: u64) -> Vec<u8> {
    let data_end = segments
        .last()
        .map_or(0, |last| last.offset_bytes + last.length_bytes);
    let end = (data_end < size_bytes).then_some((size_bytes, 0));
    let pairs = segments
        .iter()
        .map(|segment| (segment.offset_bytes, segment.length_bytes));
    let pairs: Vec<(u64, u64)> = pairs.chain(end).collect();
    let mut map = format!("{}\n", pairs.len());
    for (offset_bytes, length_bytes) in pairs {
        map.push_str(&format!("{offset_bytes}\n{length_bytes}\n"));
    }
    let mut map = map.into_bytes();
    map.resize(map.len().next_multiple_of(BLOCK_BYTES), 0);
    map
}

fn length_bytes(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}
