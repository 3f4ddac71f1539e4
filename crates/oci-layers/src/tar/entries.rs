use std::io::Read;

use fstree::{Device, Metadata};

use super::BLOCK_BYTES;
use super::gnu_long;
use super::header::Header;
use super::pax::Pax;
use super::sparse::{Segment, SparseError, SparseMap};
use super::stream::Stream;
use crate::error::{InvalidHeader, LayerError};
use crate::limits::{Limit, Limits};

/// One entry, with everything its extended headers say.
#[derive(Debug)]
pub struct Entry {
    /// Where its header starts.
    pub offset_bytes: u64,
    /// What it is.
    pub kind: EntryKind,
    /// The path, as the archive spells it.
    pub path: Vec<u8>,
    /// The target of a symlink or hard link, as the archive spells it.
    pub link: Vec<u8>,
    /// Attributes; the xattrs unfiltered.
    pub metadata: Metadata,
    /// A regular file's size, holes and all.
    pub size_bytes: u64,
    /// A regular file's data, in ascending order.
    pub segments: Vec<Segment>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A further name of an earlier entry's file.
    Hardlink,
    /// A character device.
    CharDevice(Device),
    /// A block device.
    BlockDevice(Device),
    /// A named pipe.
    Fifo,
}

/// What stands before a header and extends it. Empty names are as none.
#[derive(Debug, Default)]
struct Extensions {
    long_name: Vec<u8>,
    long_link: Vec<u8>,
    pax: Pax,
}

/// The entries of an archive, one after the other.
#[derive(Debug)]
pub struct Entries<'a, R> {
    stream: Stream<R>,
    limits: &'a Limits,
    content_bytes: u64,
    padding_bytes: u64,
}

impl<'a, R: Read> Entries<'a, R> {
    /// Those of `tar`, from its start.
    pub const fn new(tar: R, limits: &'a Limits) -> Self {
        Self {
            stream: Stream::new(tar),
            limits,
            content_bytes: 0,
            padding_bytes: 0,
        }
    }

    /// The next entry; what is unread of the last one's content is passed over. At the archive's
    /// end the stream is read to its own.
    ///
    /// # Errors
    /// What the stream gives, and what is malformed or beyond a limit.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, LayerError> {
        let mut extensions = Extensions::default();
        loop {
            self.skip_content()?;
            let offset_bytes = self.stream.offset_bytes();
            let Some(block) = self.header_block()? else {
                self.drain()?;
                return Ok(None);
            };
            let header = Header::parse(&block).map_err(|source| LayerError::Header {
                offset_bytes,
                source,
            })?;
            if !self.extend(&header, &mut extensions, offset_bytes)? {
                let unread = Unread {
                    offset_bytes,
                    block,
                    header,
                };
                return self.entry(unread, extensions).map(Some);
            }
        }
    }

    /// The content that belongs to the last entry, to be read segment by segment.
    pub fn content(&mut self) -> Content<'_, R> {
        Content {
            stream: &mut self.stream,
            left_bytes: &mut self.content_bytes,
        }
    }

    /// Why reading content failed, when the stream was the reason.
    pub const fn take_failure(&mut self) -> Option<LayerError> {
        self.stream.take_failure()
    }

    fn skip_content(&mut self) -> Result<(), LayerError> {
        let content_bytes = std::mem::take(&mut self.content_bytes);
        self.stream.skip(content_bytes)?;
        // An archive may end with its last content, as for Go.
        self.stream
            .skip_up_to(std::mem::take(&mut self.padding_bytes))?;
        Ok(())
    }

    fn expect_content(&mut self, stored_bytes: u64) {
        let block_bytes = u64::try_from(BLOCK_BYTES).expect("512 fits");
        self.content_bytes = stored_bytes;
        self.padding_bytes = (block_bytes - stored_bytes % block_bytes) % block_bytes;
    }

    /// The next header; `None` at the end of the stream or at two zero blocks.
    fn header_block(&mut self) -> Result<Option<[u8; BLOCK_BYTES]>, LayerError> {
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
                    return Err(LayerError::Header {
                        offset_bytes: end_bytes.saturating_sub(512),
                        source: InvalidHeader::LoneZeroBlock,
                    });
                }
            }
        }
        Ok(None)
    }

    fn drain(&mut self) -> Result<(), LayerError> {
        let limit = Limit::LayerTrailing;
        let most_bytes = self.limits.get(limit).saturating_add(1);
        let trailing_bytes = self.stream.skip_up_to(most_bytes)?;
        let checked = self.limits.check(limit, trailing_bytes);
        checked.map_err(|source| self.stream.beyond(source))
    }

    /// Takes a header that extends the next one in, and says whether it was one.
    fn extend(
        &mut self,
        header: &Header,
        extensions: &mut Extensions,
        offset_bytes: u64,
    ) -> Result<bool, LayerError> {
        if !matches!(header.type_flag, b'x' | b'g' | b'L' | b'K') {
            return Ok(false);
        }
        let size_bytes = header
            .content_bytes()
            .map_err(|source| LayerError::Header {
                offset_bytes,
                source,
            })?;
        self.expect_content(size_bytes);
        self.content_bytes = 0;
        let (stream, limits) = (&mut self.stream, self.limits);
        match header.type_flag {
            b'L' => {
                extensions.long_name = gnu_long::long_name(stream, size_bytes, limits)?;
            }
            b'K' => {
                extensions.long_link = gnu_long::long_name(stream, size_bytes, limits)?;
            }
            code => {
                let body = gnu_long::body(stream, size_bytes, limits)?;
                let pax = Pax::parse(&body).map_err(|source| LayerError::Header {
                    offset_bytes,
                    source,
                })?;
                // To Go a global header is an entry of its own, which engines ignore: its records
                // hold for nothing, and what stood before it has extended it.
                *extensions = match code {
                    b'g' => Extensions::default(),
                    _ => Extensions {
                        pax,
                        ..std::mem::take(extensions)
                    },
                };
            }
        }
        Ok(true)
    }

    fn entry(&mut self, unread: Unread, extensions: Extensions) -> Result<Entry, LayerError> {
        let offset_bytes = unread.offset_bytes;
        let invalid = |source| LayerError::Header {
            offset_bytes,
            source,
        };
        let (path, link) = unread.names(&extensions);
        self.check_length(&path)?;
        self.check_length(&link)?;
        let pax = &extensions.pax;
        let metadata = unread.metadata(pax).map_err(invalid)?;
        let kind = unread.kind(&path).map_err(invalid)?;
        let map = self.content_map(&unread, kind, pax);
        let map = map.map_err(|error| match error {
            SparseError::Map(source) => invalid(source),
            SparseError::Stream(error) => error,
        })?;
        Ok(Entry {
            offset_bytes,
            kind,
            path,
            link,
            metadata,
            size_bytes: map.size_bytes,
            segments: map.segments,
        })
    }

    /// Where the entry's content belongs in the file. Only regular files have any, whatever size
    /// the others state.
    fn content_map(
        &mut self,
        unread: &Unread,
        kind: EntryKind,
        pax: &Pax,
    ) -> Result<SparseMap, SparseError> {
        if kind != EntryKind::Regular {
            return match SparseMap::is_in(pax) {
                true => Err(SparseError::Map(InvalidHeader::SparseMap)),
                false => Ok(SparseMap::default()),
            };
        }
        // The header's own size must be one, even where PAX has another.
        let header_bytes = unread.header.content_bytes();
        let header_bytes = header_bytes.map_err(SparseError::Map)?;
        let stored_bytes = pax.number(b"size").map_err(SparseError::Map)?;
        let stored_bytes = stored_bytes.unwrap_or(header_bytes);
        self.expect_content(stored_bytes);
        let stream = &mut self.stream;
        if unread.header.type_flag == b'S' {
            return SparseMap::read_gnu(&unread.block, stored_bytes, stream, self.limits);
        }
        match SparseMap::read_pax(pax, stored_bytes, stream, self.limits)? {
            Some((map, map_bytes)) => {
                self.content_bytes -= map_bytes;
                Ok(map)
            }
            None => Ok(SparseMap::dense(stored_bytes)),
        }
    }

    fn check_length(&self, path: &[u8]) -> Result<(), LayerError> {
        let checked = self.limits.check_length(Limit::EntryPath, path.len());
        checked.map_err(|source| self.stream.beyond(source))
    }
}

/// A header whose content is still to come.
struct Unread {
    offset_bytes: u64,
    block: [u8; BLOCK_BYTES],
    header: Header,
}

impl Unread {
    /// The path and the link target. GNU's names go before PAX's, which go before the header's; a
    /// sparse file's own name goes before them all.
    fn names(&self, extensions: &Extensions) -> (Vec<u8>, Vec<u8>) {
        let Extensions {
            long_name,
            long_link,
            pax,
        } = extensions;
        let given = |name: &Vec<u8>| (!name.is_empty()).then(|| name.clone());
        let sparse_name = pax.get(b"GNU.sparse.name");
        let sparse_name = sparse_name.filter(|_| SparseMap::is_in(pax));
        let path = sparse_name
            .map(<[u8]>::to_vec)
            .or_else(|| given(long_name))
            .or_else(|| pax.get(b"path").map(<[u8]>::to_vec));
        let link = given(long_link).or_else(|| pax.get(b"linkpath").map(<[u8]>::to_vec));
        (
            path.unwrap_or_else(|| self.header.path.clone()),
            link.unwrap_or_else(|| self.header.link.clone()),
        )
    }

    fn kind(&self, path: &[u8]) -> Result<EntryKind, InvalidHeader> {
        Ok(match self.header.type_flag {
            // The oldest tars marked directories by the slash alone.
            0 if path.ends_with(b"/") => EntryKind::Directory,
            0 | b'0' | b'S' => EntryKind::Regular,
            b'1' => EntryKind::Hardlink,
            b'2' => EntryKind::Symlink,
            b'3' => EntryKind::CharDevice(self.header.device),
            b'4' => EntryKind::BlockDevice(self.header.device),
            b'5' => EntryKind::Directory,
            b'6' => EntryKind::Fifo,
            code => return Err(InvalidHeader::Type { code }),
        })
    }

    fn metadata(&self, pax: &Pax) -> Result<Metadata, InvalidHeader> {
        Ok(Metadata {
            mode: self.header.mode,
            uid: owner(pax.integer(b"uid")?, self.header.uid, "uid")?,
            gid: owner(pax.integer(b"gid")?, self.header.gid, "gid")?,
            mtime: pax.times()?.unwrap_or(self.header.mtime),
            xattrs: pax.xattrs()?,
        })
    }
}

/// A uid or gid. 2^32 - 1 means "leave it" to the kernel, and past that it would be cut: refused.
fn owner(pax: Option<i64>, header: i64, field: &'static str) -> Result<u32, InvalidHeader> {
    u32::try_from(pax.unwrap_or(header))
        .ok()
        .filter(|&number| number != u32::MAX)
        .ok_or(InvalidHeader::Number { field })
}

/// The bytes of the entry that is being read.
#[derive(Debug)]
pub struct Content<'a, R> {
    stream: &'a mut Stream<R>,
    left_bytes: &'a mut u64,
}

impl<R: Read> Read for Content<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let wanted = usize::try_from(*self.left_bytes).unwrap_or(usize::MAX);
        let wanted = wanted.min(buffer.len());
        let count = self.stream.read(&mut buffer[..wanted])?;
        *self.left_bytes -= u64::try_from(count).expect("a buffer is below 2^64");
        Ok(count)
    }
}
