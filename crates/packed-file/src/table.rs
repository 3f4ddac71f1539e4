use zerocopy::byteorder::LE;
use zerocopy::{FromBytes as _, IntoBytes as _, U32};

use crate::error::Fault;
use crate::format::{Groups, SECTION_GROUPS};
use crate::value::{Value, merged};
use crate::{narrow, wide};

/// The frames and the values of a section's groups.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// The end of each frame, in bytes from the section's start.
    ends_bytes: Vec<u64>,
    values: Vec<Value>,
}

/// The frame of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// Its start, in bytes from the section's start.
    pub(crate) start_bytes: u64,
    /// Its length, in bytes: at most that of its group.
    pub(crate) length: usize,
    /// The value of the group.
    pub(crate) value: Value,
}

impl Table {
    /// Appends a frame and the value of its group.
    pub(crate) fn push(&mut self, length: usize, value: Value) {
        self.ends_bytes.push(self.frames_bytes() + wide(length));
        self.values.push(value);
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns the length of all frames, in bytes.
    pub(crate) fn frames_bytes(&self) -> u64 {
        self.ends_bytes.last().copied().unwrap_or(0)
    }

    /// Returns the value of the section. `is_whole` is true if there is no other section.
    pub(crate) fn value(&self, is_whole: bool) -> Value {
        merged(&self.values, is_whole)
    }

    /// Returns the frame of a group, by its number in the section.
    pub(crate) fn frame(&self, index: usize) -> Option<Frame> {
        let end_bytes = *self.ends_bytes.get(index)?;
        let before = index
            .checked_sub(1)
            .and_then(|before| self.ends_bytes.get(before));
        let start_bytes = before.copied().unwrap_or(0);
        Some(Frame {
            start_bytes,
            length: narrow(end_bytes - start_bytes),
            value: *self.values.get(index)?,
        })
    }

    /// Returns the bytes of the table: the lengths of all frames, then the values of all groups.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut start_bytes = 0;
        for end_bytes in &self.ends_bytes {
            let length = u32::try_from(end_bytes - start_bytes).expect("a frame is short");
            bytes.extend(length.to_le_bytes());
            start_bytes = *end_bytes;
        }
        bytes.extend(self.values.as_bytes());
        bytes
    }

    /// Reads the table of a section, which has to have the right length. The frames fill `frames_bytes`.
    pub(crate) fn parse(
        bytes: &[u8],
        groups: Groups,
        section: usize,
        frames_bytes: u64,
    ) -> Result<Self, Fault> {
        let count = groups.in_section(section);
        let lengths = <[U32<LE>]>::ref_from_prefix_with_elems(bytes, count);
        let (lengths, values) = lengths.map_err(|_| Fault::Value)?;
        let values = <[Value]>::ref_from_bytes(values).map_err(|_| Fault::Value)?;
        let mut table = Self::default();
        let first = wide(section * SECTION_GROUPS);
        for (group, (length, value)) in (first..).zip(lengths.iter().zip(values)) {
            let (found, limit) = (length.get(), groups.length(group));
            let length = usize::try_from(found).ok();
            let Some(length) = length.filter(|length| *length <= limit) else {
                return Err(Fault::FrameLength {
                    group,
                    found,
                    limit,
                });
            };
            table.push(length, *value);
        }
        if table.frames_bytes() != frames_bytes {
            return Err(Fault::Frames {
                found: table.frames_bytes(),
                expected: frames_bytes,
            });
        }
        Ok(table)
    }
}
