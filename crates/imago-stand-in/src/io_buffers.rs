//! The buffers of a request: parts of the guest's memory.

use std::io::{IoSlice, IoSliceMut};

/// Buffers that bytes of a disk are read into, one after the other.
#[derive(Debug)]
pub struct IoVectorMut<'a>(pub(crate) Vec<IoSliceMut<'a>>);

/// Buffers whose bytes are written to a disk, one after the other.
#[derive(Debug)]
pub struct IoVector<'a>(pub(crate) Vec<IoSlice<'a>>);

impl IoVectorMut<'_> {
    /// Returns the length of all buffers together, in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.iter().map(|buffer| length_of(buffer)).sum()
    }

    /// Returns true if there is no byte to be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl IoVector<'_> {
    /// Returns the length of all buffers together, in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.iter().map(|buffer| length_of(buffer)).sum()
    }

    /// Returns true if there is no byte to be written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> From<Vec<IoSliceMut<'a>>> for IoVectorMut<'a> {
    fn from(buffers: Vec<IoSliceMut<'a>>) -> Self {
        Self(buffers)
    }
}

impl<'a> From<Vec<IoSlice<'a>>> for IoVector<'a> {
    fn from(buffers: Vec<IoSlice<'a>>) -> Self {
        Self(buffers)
    }
}

/// Returns the length of a buffer, in bytes.
pub(crate) fn length_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).expect("memory is shorter than 2^64 bytes")
}
