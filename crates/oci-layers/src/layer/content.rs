use std::io::{self, Read};

use fstree::{BLOCK_SIZE_BYTES, DataSink, FileData, Segment};
use tar_stream::{ArchiveReader, Entry, EntryKind};

use crate::error::LayerError;

/// Streams a regular file's content into the sink. Blocks without data stay holes.
pub(crate) fn store<R: Read, S: DataSink>(
    entry: &Entry,
    archive: &mut ArchiveReader<R>,
    sink: &mut S,
) -> Result<FileData, LayerError> {
    let mut data = FileData {
        size_bytes: entry.size_bytes,
        ..FileData::default()
    };
    if entry.kind != EntryKind::Regular {
        return Ok(data);
    }
    let mut segments = entry.segments.as_slice();
    while let Some((stretch, rest)) = Stretch::first_of(segments, entry.size_bytes) {
        segments = rest;
        let file_block = stretch.start_bytes / BLOCK_SIZE_BYTES;
        let length_bytes = stretch.end_bytes - stretch.start_bytes;
        let mut content = stretch.over(archive.content());
        let stored = sink.append(&mut content, length_bytes);
        let stored = stored.map_err(|source| match archive.take_failure() {
            Some(failure) => failure.into(),
            None => LayerError::Sink {
                path: entry.path.as_slice().into(),
                source: Box::new(source),
            },
        })?;
        data.extents.extend(stored.map(|run| run.at(file_block)));
    }
    Ok(data)
}

/// Adjacent segments that share blocks or whose blocks touch, stored as one run. It starts at a
/// block boundary and ends at one, or at the end of the file.
struct Stretch<'a> {
    start_bytes: u64,
    end_bytes: u64,
    segments: &'a [Segment],
}

impl<'a> Stretch<'a> {
    fn first_of(segments: &'a [Segment], size_bytes: u64) -> Option<(Self, &'a [Segment])> {
        let end_block = |segment: &Segment| {
            (segment.offset_bytes + segment.length_bytes).div_ceil(BLOCK_SIZE_BYTES)
        };
        let first = segments.first()?;
        let mut end = end_block(first);
        let mut count = 1;
        for segment in &segments[1..] {
            if segment.offset_bytes / BLOCK_SIZE_BYTES > end {
                break;
            }
            end = end_block(segment);
            count += 1;
        }
        let (segments, rest) = segments.split_at(count);
        let stretch = Self {
            start_bytes: first.offset_bytes / BLOCK_SIZE_BYTES * BLOCK_SIZE_BYTES,
            end_bytes: end.saturating_mul(BLOCK_SIZE_BYTES).min(size_bytes),
            segments,
        };
        Some((stretch, rest))
    }

    const fn over<R>(self, stored: R) -> Filled<'a, R> {
        Filled {
            at_bytes: self.start_bytes,
            end_bytes: self.end_bytes,
            segments: self.segments,
            stored,
        }
    }
}

/// Reads the bytes of a stretch: the stored ones, with zeros in the gaps.
struct Filled<'a, R> {
    at_bytes: u64,
    end_bytes: u64,
    segments: &'a [Segment],
    stored: R,
}

impl<R: Read> Read for Filled<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(first) = self.segments.first()
            && self.at_bytes == first.offset_bytes + first.length_bytes
        {
            self.segments = &self.segments[1..];
        }
        let (until_bytes, is_stored) = match self.segments.first() {
            Some(next) if next.offset_bytes > self.at_bytes => (next.offset_bytes, false),
            Some(next) => (next.offset_bytes + next.length_bytes, true),
            None => (self.end_bytes, false),
        };
        let left = usize::try_from(until_bytes - self.at_bytes).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let buffer = &mut buffer[..wanted];
        let count = if is_stored {
            self.stored.read(buffer)?
        } else {
            buffer.fill(0);
            wanted
        };
        self.at_bytes += u64::try_from(count).expect("a buffer is below 2^64");
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_become_block_aligned_runs_with_zeros_between() {
        let segment = |offset_bytes, length_bytes| Segment {
            offset_bytes,
            length_bytes,
        };
        let segments = [
            segment(10, 2),
            segment(100, 1),
            segment(8192, 3),
            segment(20_000, 5),
        ];
        let (stretch, rest) = Stretch::first_of(&segments, 20_005).expect("there is one");
        assert_eq!((stretch.start_bytes, stretch.end_bytes), (0, 4096));
        let mut bytes = Vec::new();
        stretch
            .over(&b"abc"[..])
            .read_to_end(&mut bytes)
            .expect("memory does not fail");
        assert_eq!(bytes.len(), 4096);
        assert_eq!((&bytes[9..13], bytes[100]), (&b"\0ab\0"[..], b'c'));

        let (stretch, rest) = Stretch::first_of(rest, 20_005).expect("there is another");
        assert_eq!((stretch.start_bytes, stretch.end_bytes), (8192, 12_288));
        let (stretch, rest) = Stretch::first_of(rest, 20_005).expect("there is a third");
        assert_eq!((stretch.start_bytes, stretch.end_bytes), (16_384, 20_005));
        assert!(rest.is_empty());
    }
}
