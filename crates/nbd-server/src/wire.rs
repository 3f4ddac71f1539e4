//! Numbers from and to the stream, which are big-endian.

use std::io::{self, ErrorKind, Read};

/// Reads `N` bytes.
pub(crate) fn bytes<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn u32(from: &mut impl Read) -> io::Result<u32> {
    bytes(from).map(u32::from_be_bytes)
}

/// Reads `N` bytes; `None` if the stream has ended before the first one.
pub(crate) fn bytes_or_end<const N: usize>(from: &mut impl Read) -> io::Result<Option<[u8; N]>> {
    let mut first = [0];
    loop {
        match from.read(&mut first) {
            Ok(0) => return Ok(None),
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut bytes = [0; N];
    let Some((head, rest)) = bytes.split_first_mut() else {
        return Ok(Some(bytes));
    };
    *head = first[0];
    from.read_exact(rest)?;
    Ok(Some(bytes))
}

/// A message in memory, read field by field.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    /// Takes `length` bytes; `None` if there are fewer.
    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
}
