//! The end record and the directory: read, checked, and proven to lead to the checksum.

use fstree::ReadAt;
use zerocopy::FromBytes as _;

use crate::error::{Damaged, Fault, OpenError, Part};
use crate::format::{
    DirectoryEntry, EndRecord, Groups, MAGIC, SIZE_MAX_BYTES, TAIL_BYTES, VERSION,
};
use crate::value::{GROUP_BYTES, Value, merged};
use crate::{narrow, wide};

/// A section of a packed file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section {
    /// The offset of its first frame, in bytes.
    pub(crate) start_bytes: u64,
    /// The offset of its table, in bytes.
    pub(crate) table_offset_bytes: u64,
    pub(crate) value: Value,
}

/// The proven parts of a packed file's end.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) groups: Groups,
    pub(crate) checksum: Value,
    pub(crate) sections: Vec<Section>,
}

impl Contents {
    pub(crate) fn read(file: &impl ReadAt, expected: Option<&Value>) -> Result<Self, OpenError> {
        let file_bytes = file.size_bytes()?;
        let mut tail = vec![0; narrow(file_bytes.min(TAIL_BYTES))];
        let offset_bytes = file_bytes - wide(tail.len());
        file.read_exact_at(&mut tail, offset_bytes)?;
        let end = EndRecord::read_from_suffix(&tail).map(|(_, end)| end);
        let Some(end) = end.ok().filter(|end| end.magic == MAGIC) else {
            return Err(OpenError::NotPacked);
        };
        let groups = checked(&end, file_bytes)?;
        let directory = directory(file, &end, &tail, file_bytes)?;
        if end.sealed(&directory) != end.seal {
            let offset_bytes = file_bytes - wide(size_of::<EndRecord>());
            return Err(damaged(Part::EndRecord, offset_bytes, Fault::Seal));
        }
        if let Some(expected) = expected.filter(|expected| **expected != end.checksum) {
            return Err(OpenError::OtherContent {
                found: hex::encode(end.checksum),
                expected: hex::encode(expected),
            });
        }
        let at = |fault| damaged(Part::Directory, end.directory_offset_bytes.get(), fault);
        let sections =
            sections(&directory, groups, end.directory_offset_bytes.get()).map_err(at)?;
        let values: Vec<Value> = sections.iter().map(|section| section.value).collect();
        if merged(&values, true) != end.checksum {
            return Err(at(Fault::Value));
        }
        Ok(Self {
            groups,
            checksum: end.checksum,
            sections,
        })
    }
}

/// Returns the groups of a file whose end record has valid fields.
fn checked(end: &EndRecord, file_bytes: u64) -> Result<Groups, OpenError> {
    if end.version.get() != VERSION {
        return Err(OpenError::Version {
            found: end.version.get(),
            known: VERSION,
        });
    }
    let size_bytes = end.size_bytes.get();
    if size_bytes > SIZE_MAX_BYTES {
        return Err(OpenError::TooLarge {
            size_bytes,
            limit_bytes: SIZE_MAX_BYTES,
        });
    }
    let groups = Groups { size_bytes };
    // The directory fills the space before the end record, so its length is bounded by the file's.
    let end_offset_bytes = file_bytes - wide(size_of::<EndRecord>());
    let directory_bytes = groups.sections() * wide(size_of::<DirectoryEntry>());
    let start_bytes = end_offset_bytes.saturating_sub(directory_bytes);
    let found = end.directory_offset_bytes.get();
    if found != start_bytes || directory_bytes > end_offset_bytes {
        let fault = Fault::Place {
            found,
            start: start_bytes,
            end: start_bytes,
        };
        return Err(damaged(Part::EndRecord, end_offset_bytes, fault));
    }
    Ok(groups)
}

/// Returns the bytes of the directory, which are in the tail of most files.
fn directory(
    file: &impl ReadAt,
    end: &EndRecord,
    tail: &[u8],
    file_bytes: u64,
) -> Result<Vec<u8>, OpenError> {
    let offset_bytes = end.directory_offset_bytes.get();
    let length = narrow(file_bytes - wide(size_of::<EndRecord>()) - offset_bytes);
    let end_of_tail = tail.len() - size_of::<EndRecord>();
    if let Some(start) = end_of_tail.checked_sub(length) {
        return Ok(tail.get(start..end_of_tail).unwrap_or_default().to_vec());
    }
    let mut directory = vec![0; length];
    file.read_exact_at(&mut directory, offset_bytes)?;
    Ok(directory)
}

/// Returns the sections of a directory, which follow each other without gaps.
fn sections(directory: &[u8], groups: Groups, end_bytes: u64) -> Result<Vec<Section>, Fault> {
    let entries = <[DirectoryEntry]>::ref_from_bytes(directory).map_err(|_| Fault::Value)?;
    let (mut sections, mut start_bytes) = (Vec::new(), 0);
    for (section, entry) in entries.iter().enumerate() {
        let table_offset_bytes = entry.table_offset_bytes.get();
        let frames_bytes = wide(groups.in_section(section) * GROUP_BYTES);
        let table_bytes = groups.table_bytes(section);
        let most_bytes = (start_bytes + frames_bytes).min(end_bytes.saturating_sub(table_bytes));
        if !(start_bytes..=most_bytes).contains(&table_offset_bytes) {
            return Err(Fault::Place {
                found: table_offset_bytes,
                start: start_bytes,
                end: most_bytes,
            });
        }
        sections.push(Section {
            start_bytes,
            table_offset_bytes,
            value: entry.value,
        });
        start_bytes = table_offset_bytes + table_bytes;
    }
    if start_bytes != end_bytes {
        return Err(Fault::Place {
            found: start_bytes,
            start: end_bytes,
            end: end_bytes,
        });
    }
    Ok(sections)
}

fn damaged(part: Part, offset_bytes: u64, fault: Fault) -> OpenError {
    OpenError::Damaged(Damaged {
        part,
        offset_bytes,
        fault,
    })
}
