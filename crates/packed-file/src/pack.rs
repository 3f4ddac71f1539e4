use std::io::{self, Read, Write};
use std::mem;

use zerocopy::IntoBytes as _;

use crate::error::PackError;
use crate::format::{DirectoryEntry, EndRecord, MAGIC, SECTION_GROUPS, SIZE_MAX_BYTES, VERSION};
use crate::frame::FrameEncoder;
use crate::table::Table;
use crate::value::{GROUP_BYTES, Value, group_value, merged};
use crate::wide;

/// A packed file that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packed {
    /// The size of the plain file, in bytes.
    pub size_bytes: u64,
    /// The size of the packed file, in bytes.
    pub packed_bytes: u64,
    /// The BLAKE3 of the plain file.
    pub checksum: Value,
}

/// Packs a plain file, from its beginning to its end. The caller makes the output durable.
///
/// # Errors
/// The input or the output fails, or the plain file has more than [`SIZE_MAX_BYTES`].
pub fn pack(mut plain: impl Read, packed: impl Write) -> Result<Packed, PackError> {
    let mut writer = Writer::new(packed)?;
    let (mut group, mut next) = (vec![0; GROUP_BYTES], vec![0; GROUP_BYTES]);
    let mut length = fill(&mut plain, &mut group)?;
    while length > 0 {
        // The value of a group depends on whether another one follows.
        let next_length = fill(&mut plain, &mut next)?;
        let bytes = group.get(..length).unwrap_or_default();
        writer.group(bytes, next_length == 0)?;
        mem::swap(&mut group, &mut next);
        length = next_length;
    }
    writer.finish()
}

/// Fills a buffer as far as the input goes, and returns the number of bytes.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize, PackError> {
    let mut filled = 0;
    while let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) {
        match input.read(room) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(PackError::Input(error)),
        }
    }
    Ok(filled)
}

/// A packed file in the making.
struct Writer<W> {
    output: W,
    encoder: FrameEncoder,
    size_bytes: u64,
    packed_bytes: u64,
    table: Table,
    directory: Vec<DirectoryEntry>,
}

impl<W: Write> Writer<W> {
    fn new(output: W) -> Result<Self, PackError> {
        Ok(Self {
            output,
            encoder: FrameEncoder::new().map_err(PackError::Compression)?,
            size_bytes: 0,
            packed_bytes: 0,
            table: Table::default(),
            directory: Vec::new(),
        })
    }

    fn group(&mut self, group: &[u8], is_last: bool) -> Result<(), PackError> {
        let is_whole = is_last && self.size_bytes == 0;
        let value = group_value(group, self.size_bytes, is_whole);
        self.size_bytes += wide(group.len());
        if self.size_bytes > SIZE_MAX_BYTES {
            return Err(PackError::TooLarge {
                limit_bytes: SIZE_MAX_BYTES,
            });
        }
        let frame = self.encoder.encode(group);
        self.output.write_all(frame).map_err(PackError::Output)?;
        self.packed_bytes += wide(frame.len());
        self.table.push(frame.len(), value);
        if is_last || self.table.len() == SECTION_GROUPS {
            self.section(is_last)?;
        }
        Ok(())
    }

    fn section(&mut self, is_last: bool) -> Result<(), PackError> {
        let table = mem::take(&mut self.table);
        self.directory.push(DirectoryEntry {
            table_offset_bytes: self.packed_bytes.into(),
            value: table.value(is_last && self.directory.is_empty()),
        });
        self.write(&table.to_bytes())
    }

    fn finish(mut self) -> Result<Packed, PackError> {
        let directory = mem::take(&mut self.directory);
        let values: Vec<Value> = directory.iter().map(|section| section.value).collect();
        let mut end = EndRecord {
            size_bytes: self.size_bytes.into(),
            directory_offset_bytes: self.packed_bytes.into(),
            checksum: merged(&values, true),
            seal: [0; 32],
            version: VERSION.into(),
            magic: MAGIC,
        };
        end.seal = end.sealed(directory.as_bytes());
        self.write(directory.as_bytes())?;
        self.write(end.as_bytes())?;
        self.output.flush().map_err(PackError::Output)?;
        Ok(Packed {
            size_bytes: self.size_bytes,
            packed_bytes: self.packed_bytes,
            checksum: end.checksum,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), PackError> {
        self.output.write_all(bytes).map_err(PackError::Output)?;
        self.packed_bytes += wide(bytes.len());
        Ok(())
    }
}
