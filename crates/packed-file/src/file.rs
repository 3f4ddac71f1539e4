use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use fstree::ReadAt;

use crate::error::{Damaged, Fault, OpenError, Part, ReadError};
use crate::format::SECTION_GROUPS;
use crate::frame::FrameDecoder;
use crate::open::{Contents, Section};
use crate::table::{Frame, Table};
use crate::tables::Tables;
use crate::value::{GROUP_BYTES, Value, group_value};
use crate::{narrow, wide};

/// The most decoders that are kept while no thread uses them. Each has some 250 KiB.
const DECODERS_MAX: usize = 4;

/// A packed file, which reads as its plain file does. Every group that is read is proven to be a part of the
/// content with [`PackedFile::checksum`].
pub struct PackedFile<R> {
    file: R,
    contents: Contents,
    tables: Tables,
    decoders: Mutex<Vec<FrameDecoder>>,
}

impl<R> std::fmt::Debug for PackedFile<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackedFile")
            .field("contents", &self.contents)
            .finish_non_exhaustive()
    }
}

impl<R: ReadAt> PackedFile<R> {
    /// Opens a packed file, by one or two reads at its end. If `expected` is a checksum, the plain file has to
    /// have it; otherwise the caller compares [`PackedFile::checksum`].
    ///
    /// # Errors
    /// If the file cannot be read, is not a packed file of this version, is damaged at its end, or has another
    /// content.
    pub fn open(file: R, expected: Option<&Value>) -> Result<Self, OpenError> {
        let contents = Contents::read(&file, expected)?;
        Ok(Self {
            file,
            contents,
            tables: Tables::default(),
            decoders: Mutex::default(),
        })
    }

    /// Returns the BLAKE3 of the plain file.
    pub fn checksum(&self) -> &Value {
        &self.contents.checksum
    }

    /// Returns the size of the plain file, in bytes.
    pub fn plain_bytes(&self) -> u64 {
        self.contents.groups.size_bytes
    }

    /// Returns true if these are the bytes of the plain file from `offset_bytes` on. They are whole groups: the
    /// offset is a multiple of [`GROUP_BYTES`], and so is the end unless it is the file's.
    ///
    /// # Errors
    /// If the values of the groups cannot be read.
    pub fn proves(&self, offset_bytes: u64, bytes: &[u8]) -> Result<bool, ReadError> {
        if !offset_bytes.is_multiple_of(wide(GROUP_BYTES)) {
            return Ok(false);
        }
        let first = offset_bytes / wide(GROUP_BYTES);
        for (number, group) in (first..).zip(bytes.chunks(GROUP_BYTES)) {
            if group.len() != self.contents.groups.length(number) {
                return Ok(false);
            }
            let (frame, _) = self.frame(number)?;
            if frame.value != self.value(number, group) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Hands the groups of the plain file out, from its beginning to its end, with the offset of each in bytes.
    /// A group of zeros is handed out, too. All of them are proven, so this also verifies the file.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged, or `take` fails, as [`ReadError::Io`].
    pub fn for_each_group(
        &self,
        take: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> Result<(), ReadError> {
        let mut buffer = vec![0; GROUP_BYTES];
        for number in 0..self.contents.groups.count() {
            let length = self.contents.groups.length(number);
            let group = buffer.get_mut(..length).unwrap_or_default();
            self.group(number, group)?;
            take(number * wide(GROUP_BYTES), group)?;
        }
        Ok(())
    }

    /// Fills `buffer` with the bytes of the plain file from `offset_bytes` on.
    ///
    /// # Errors
    /// If they end beyond the plain file, or the packed file cannot be read or is damaged there. The buffer
    /// then has no bytes that are not proven.
    pub fn read(&self, buffer: &mut [u8], offset_bytes: u64) -> Result<(), ReadError> {
        let (length_bytes, size_bytes) = (wide(buffer.len()), self.plain_bytes());
        let end_bytes = offset_bytes.checked_add(length_bytes);
        if end_bytes.is_none_or(|end_bytes| end_bytes > size_bytes) {
            return Err(ReadError::OutOfRange {
                offset_bytes,
                length_bytes,
                size_bytes,
            });
        }
        let (mut rest, mut at_bytes, mut scratch) = (buffer, offset_bytes, Vec::new());
        while !rest.is_empty() {
            let number = at_bytes / wide(GROUP_BYTES);
            let within = narrow(at_bytes % wide(GROUP_BYTES));
            let length = self.contents.groups.length(number);
            let (piece, after) = rest.split_at_mut(rest.len().min(length - within));
            if piece.len() == length {
                self.group(number, piece)?;
            } else {
                scratch.resize(length, 0);
                self.group(number, &mut scratch)?;
                let wanted = scratch
                    .get(within..)
                    .and_then(|from| from.get(..piece.len()));
                piece.copy_from_slice(wanted.expect("the piece is in its group"));
            }
            at_bytes += wide(piece.len());
            rest = after;
        }
        Ok(())
    }

    /// Fills a group, which has its length. It is zeros if that fails.
    fn group(&self, number: u64, group: &mut [u8]) -> Result<(), ReadError> {
        let decoder = self.decoders().pop();
        let mut decoder = decoder.map_or_else(FrameDecoder::new, Ok)?;
        let filled = self.decoded(number, &mut decoder, group);
        let mut decoders = self.decoders();
        if decoders.len() < DECODERS_MAX {
            decoders.push(decoder);
        }
        drop(decoders);
        if filled.is_err() {
            group.fill(0);
        }
        filled
    }

    fn decoded(
        &self,
        number: u64,
        decoder: &mut FrameDecoder,
        group: &mut [u8],
    ) -> Result<(), ReadError> {
        let (frame, offset_bytes) = self.frame(number)?;
        let bytes = decoder.frame.get_mut(..frame.length).unwrap_or_default();
        self.file.read_exact_at(bytes, offset_bytes)?;
        let decoded = decoder.decode(frame.length, group);
        let proven = decoded.and_then(|()| {
            let is_right = self.value(number, group) == frame.value;
            is_right.then_some(()).ok_or(Fault::Value)
        });
        proven.map_err(|fault| {
            let part = Part::Frame(number);
            ReadError::Damaged(Damaged {
                part,
                offset_bytes,
                fault,
            })
        })
    }

    fn value(&self, number: u64, group: &[u8]) -> Value {
        let is_whole = self.contents.groups.is_one();
        group_value(group, number * wide(GROUP_BYTES), is_whole)
    }

    /// Returns the frame of a group, and its offset in bytes.
    fn frame(&self, number: u64) -> Result<(Frame, u64), ReadError> {
        let index = narrow(number % wide(SECTION_GROUPS));
        let section = narrow(number / wide(SECTION_GROUPS));
        let place = self.contents.sections.get(section);
        let place = place.expect("the group is in the plain file");
        let frame = self.table(section, place)?.frame(index);
        let frame = frame.expect("a table has all groups of its section");
        Ok((frame, place.start_bytes + frame.start_bytes))
    }

    /// Returns the table of a section, proven.
    fn table(&self, section: usize, place: &Section) -> Result<Arc<Table>, ReadError> {
        if let Some(table) = self.tables.get(section) {
            return Ok(table);
        }
        let groups = self.contents.groups;
        let mut bytes = vec![0; narrow(groups.table_bytes(section))];
        self.file
            .read_exact_at(&mut bytes, place.table_offset_bytes)?;
        let frames_bytes = place.table_offset_bytes - place.start_bytes;
        let is_whole = self.contents.sections.len() == 1;
        let table = Table::parse(&bytes, groups, section, frames_bytes).and_then(|table| {
            let is_right = table.value(is_whole) == place.value;
            is_right.then_some(table).ok_or(Fault::Value)
        });
        let table = table.map(Arc::new).map_err(|fault| Damaged {
            part: Part::Table(section),
            offset_bytes: place.table_offset_bytes,
            fault,
        })?;
        self.tables.insert(section, &table);
        Ok(table)
    }

    fn decoders(&self) -> std::sync::MutexGuard<'_, Vec<FrameDecoder>> {
        self.decoders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: ReadAt> ReadAt for PackedFile<R> {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        Ok(self.read(buf, offset_bytes)?)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.plain_bytes())
    }
}
