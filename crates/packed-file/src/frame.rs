//! Frames: a group as zstd, as it is if that is not shorter, or nothing if it is zeros. The length of a
//! frame says which.

use std::io;

use zstd::bulk::{Compressor, Decompressor};

use crate::error::Fault;
use crate::value::GROUP_BYTES;

/// The level of the compression. Level 3 takes 40 % more time for 4 % fewer bytes.
const LEVEL: i32 = 1;

/// A compression that is used for many groups.
pub(crate) struct FrameEncoder {
    compressor: Compressor<'static>,
    frame: Vec<u8>,
}

impl FrameEncoder {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            compressor: Compressor::new(LEVEL)?,
            frame: vec![0; GROUP_BYTES],
        })
    }

    /// Returns the frame of a group.
    pub(crate) fn encode<'a>(&'a mut self, group: &'a [u8]) -> &'a [u8] {
        if is_zeros(group) {
            return &[];
        }
        // A frame has to be shorter than its group, so zstd gets no more room than that.
        let room = group.len().saturating_sub(1);
        let Some(room) = self.frame.get_mut(..room) else {
            return group;
        };
        let length = self.compressor.compress_to_buffer(group, room);
        let frame = length.ok().and_then(|length| self.frame.get(..length));
        frame.unwrap_or(group)
    }
}

/// A decompression that is used for many frames, and a buffer for the frames.
pub(crate) struct FrameDecoder {
    decompressor: Decompressor<'static>,
    /// Room for the longest frame.
    pub(crate) frame: Vec<u8>,
}

impl FrameDecoder {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            decompressor: Decompressor::new()?,
            frame: vec![0; GROUP_BYTES],
        })
    }

    /// Fills a group from its frame, which is the first `length` bytes of the buffer.
    pub(crate) fn decode(&mut self, length: usize, group: &mut [u8]) -> Result<(), Fault> {
        let limit = group.len();
        let frame = self.frame.get(..length).unwrap_or_default();
        if frame.is_empty() {
            group.fill(0);
            return Ok(());
        }
        if frame.len() == limit {
            group.copy_from_slice(frame);
            return Ok(());
        }
        match self.decompressor.decompress_to_buffer(frame, group) {
            Ok(found) if found == limit => Ok(()),
            Ok(found) => Err(Fault::Short {
                found,
                expected: limit,
            }),
            Err(error) => Err(Fault::Compression {
                limit,
                reason: error.to_string(),
            }),
        }
    }
}

/// Returns true if all bytes are zeros.
fn is_zeros(bytes: &[u8]) -> bool {
    // An array is compared at once, and a byte at a time is not.
    let (pieces, rest) = bytes.as_chunks::<64>();
    pieces.iter().all(|piece| *piece == [0; 64]) && rest.iter().all(|byte| *byte == 0)
}
