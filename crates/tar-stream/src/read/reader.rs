use std::io::{self, Read, Seek};

use super::extensions::Extensions;
use super::header::Header;
use super::sparse::{SparseError, SparseMap};
use super::stream::Stream;
use crate::BLOCK_BYTES;
use crate::entry::{Entry, EntryKind};
use crate::error::{InvalidHeader, ReadError};
use crate::limits::{Limit, Limits};

/// Reads the entries of an archive, one after the other.
#[derive(Debug)]
pub struct ArchiveReader<R> {
    stream: Stream<R>,
    limits: Limits,
    content_bytes: u64,
    padding_bytes: u64,
}

impl<R: Read> ArchiveReader<R> {
    /// Returns a reader of the archive that begins at the current position of `tar`.
    pub const fn new(tar: R, limits: Limits) -> Self {
        Self {
            stream: Stream::new(tar),
            limits,
            content_bytes: 0,
            padding_bytes: 0,
        }
    }

    /// Returns the offset of the next byte that is read. After [`ArchiveReader::next_entry`] it is
    /// that of the entry's content, in bytes from the archive's start.
    pub const fn offset_bytes(&self) -> u64 {
        self.stream.offset_bytes()
    }

    /// Returns the next entry. `None` at the end of the archive; then the stream has been read to
    /// its end.
    ///
    /// Content of the last entry that has not been read is skipped.
    ///
    /// # Errors
    /// The stream fails or ends inside of an entry, or the archive is malformed or exceeds a limit.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, ReadError> {
        let mut extensions = Extensions::default();
        loop {
            self.skip_content()?;
            let offset_bytes = self.stream.offset_bytes();
            let invalid = |source| ReadError::Header {
                offset_bytes,
                source,
            };
            let Some(block) = self.header_block()? else {
                self.drain()?;
                return Ok(None);
            };
            let header = Header::parse(&block).map_err(invalid)?;
            if !header.is_extension() {
                let entry = extensions.entry(&header, offset_bytes).map_err(invalid)?;
                return self.with_content(entry, &block, &header, &extensions);
            }
            let size_bytes = header.size_bytes().map_err(invalid)?;
            self.expect_content(size_bytes);
            self.content_bytes = 0;
            let body = self.stream.body(size_bytes, &self.limits)?;
            let added = extensions.add(header.type_flag(), &body);
            added.map_err(invalid)?;
        }
    }

    /// Returns a reader of the last entry's content: the bytes of its segments, one after the
    /// other. If it fails, [`ArchiveReader::take_failure`] has the reason.
    pub fn content(&mut self) -> Content<'_, R> {
        Content {
            stream: &mut self.stream,
            left_bytes: &mut self.content_bytes,
        }
    }

    /// Takes the error that ended reading of content. `None` if the stream was not the reason.
    pub const fn take_failure(&mut self) -> Option<ReadError> {
        self.stream.take_failure()
    }

    /// Returns the stream, from which the bytes up to the end of the last read are taken.
    pub fn into_inner(self) -> R {
        self.stream.into_inner()
    }

    fn skip_content(&mut self) -> Result<(), ReadError> {
        let content_bytes = std::mem::take(&mut self.content_bytes);
        self.stream.skip(content_bytes)?;
        // An archive may end with its last content, without padding; Go accepts that as well.
        self.stream
            .skip_up_to(std::mem::take(&mut self.padding_bytes))?;
        Ok(())
    }

    fn expect_content(&mut self, stored_bytes: u64) {
        let block_bytes = u64::try_from(BLOCK_BYTES).expect("512 fits");
        self.content_bytes = stored_bytes;
        self.padding_bytes = (block_bytes - stored_bytes % block_bytes) % block_bytes;
    }

    /// Reads the next header. `None` at the end of the stream or at two zero blocks.
    fn header_block(&mut self) -> Result<Option<[u8; BLOCK_BYTES]>, ReadError> {
        const ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];
        let mut block = ZEROS;
        for is_second in [false, true] {
            match self.stream.fill(&mut block)? {
                0 => return Ok(None),
                BLOCK_BYTES => {}
                _ => return Err(self.stream.truncated()),
            }
            match (block == ZEROS, is_second) {
                (true, _) => {}
                (false, false) => return Ok(Some(block)),
                (false, true) => {
                    let end_bytes = self.stream.offset_bytes();
                    return Err(ReadError::Header {
                        offset_bytes: end_bytes.saturating_sub(512),
                        source: InvalidHeader::LoneZeroBlock,
                    });
                }
            }
        }
        Ok(None)
    }

    fn drain(&mut self) -> Result<(), ReadError> {
        let most_bytes = self.limits.trailing_bytes.saturating_add(1);
        let trailing_bytes = self.stream.skip_up_to(most_bytes)?;
        let checked = self.limits.check(Limit::Trailing, trailing_bytes);
        checked.map_err(|source| self.stream.beyond(source))
    }

    /// Gives an entry its sparse map, if it has one, and prepares for reading its content.
    fn with_content(
        &mut self,
        mut entry: Entry,
        block: &[u8; BLOCK_BYTES],
        header: &Header,
        extensions: &Extensions,
    ) -> Result<Option<Entry>, ReadError> {
        self.check_length(&entry.path)?;
        self.check_length(&entry.link)?;
        if entry.kind == EntryKind::Regular {
            self.expect_content(entry.size_bytes);
        }
        if extensions.is_sparse(header) {
            let offset_bytes = entry.offset_bytes;
            let map = self.sparse_map(&entry, block, header, extensions);
            let map = map.map_err(|error| match error {
                SparseError::Stream(error) => error,
                SparseError::Map(source) => ReadError::Header {
                    offset_bytes,
                    source,
                },
            })?;
            entry.size_bytes = map.size_bytes;
            entry.segments = map.segments;
        }
        Ok(Some(entry))
    }

    /// Reads the map of a sparse file. The entry's size is its number of stored bytes.
    fn sparse_map(
        &mut self,
        entry: &Entry,
        block: &[u8; BLOCK_BYTES],
        header: &Header,
        extensions: &Extensions,
    ) -> Result<SparseMap, SparseError> {
        if entry.kind != EntryKind::Regular {
            return Err(SparseError::Map(InvalidHeader::SparseMap));
        }
        let (stored_bytes, stream) = (entry.size_bytes, &mut self.stream);
        if header.is_gnu_sparse() {
            return SparseMap::read_gnu(block, stored_bytes, stream, &self.limits);
        }
        let (map, map_bytes) =
            SparseMap::read_pax(&extensions.pax, stored_bytes, stream, &self.limits)?;
        self.content_bytes -= map_bytes;
        Ok(map)
    }

    fn check_length(&self, path: &[u8]) -> Result<(), ReadError> {
        let checked = self.limits.check_length(Limit::Path, path.len());
        checked.map_err(|source| self.stream.beyond(source))
    }
}

/// A reader of the content of the entry that was read last.
#[derive(Debug)]
pub struct Content<'a, R> {
    stream: &'a mut Stream<R>,
    left_bytes: &'a mut u64,
}

impl<R: Read + Seek> ArchiveReader<R> {
    /// Returns a reader like [`ArchiveReader::new`], which seeks past content that is not read.
    pub const fn seekable(tar: R, limits: Limits) -> Self {
        Self {
            stream: Stream::seekable(tar),
            limits,
            content_bytes: 0,
            padding_bytes: 0,
        }
    }
}

impl<R: Read> Read for Content<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(*self.left_bytes).unwrap_or(usize::MAX);
        let wanted = wanted.min(buffer.len());
        let count = self.stream.read(&mut buffer[..wanted])?;
        *self.left_bytes -= u64::try_from(count).expect("a buffer is below 2^64");
        Ok(count)
    }
}
