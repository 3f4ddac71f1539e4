//! The fields of packets: big-endian numbers, and strings behind their length.

use thiserror::Error;

/// The reason for which a packet cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ParseError {
    /// The packet ends within a field.
    #[error("the packet ends within a field")]
    Short,
    /// The packet has bytes after its last field.
    #[error("the packet has {0} bytes after its last field")]
    Surplus(usize),
    /// The packet's type is not one of the protocol's.
    #[error("{0} is not the type of a packet")]
    Type(u8),
}

/// The fields of a packet that are still to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) const fn new(packet: &'a [u8]) -> Self {
        Self(packet)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, ParseError> {
        let ([byte], rest) = self.0.split_first_chunk().ok_or(ParseError::Short)?;
        self.0 = rest;
        Ok(*byte)
    }

    pub(crate) fn number(&mut self) -> Result<u32, ParseError> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(ParseError::Short)?;
        self.0 = rest;
        Ok(u32::from_be_bytes(*bytes))
    }

    pub(crate) fn long(&mut self) -> Result<u64, ParseError> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(ParseError::Short)?;
        self.0 = rest;
        Ok(u64::from_be_bytes(*bytes))
    }

    pub(crate) fn string(&mut self) -> Result<&'a [u8], ParseError> {
        let length = usize::try_from(self.number()?).map_err(|_| ParseError::Short)?;
        let (string, rest) = self.0.split_at_checked(length).ok_or(ParseError::Short)?;
        self.0 = rest;
        Ok(string)
    }

    pub(crate) fn owned(&mut self) -> Result<Vec<u8>, ParseError> {
        Ok(self.string()?.to_vec())
    }

    /// Returns all bytes that are left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Fails if bytes are left.
    pub(crate) const fn end(&self) -> Result<(), ParseError> {
        match self.0.len() {
            0 => Ok(()),
            surplus => Err(ParseError::Surplus(surplus)),
        }
    }
}

/// A packet that is written, behind room for its length.
#[derive(Debug)]
pub(crate) struct Packet(Vec<u8>);

impl Packet {
    pub(crate) fn new(kind: u8) -> Self {
        Self(vec![0, 0, 0, 0, kind])
    }

    pub(crate) fn number(&mut self, number: u32) {
        self.0.extend(number.to_be_bytes());
    }

    pub(crate) fn long(&mut self, number: u64) {
        self.0.extend(number.to_be_bytes());
    }

    pub(crate) fn string(&mut self, string: &[u8]) {
        self.number(length(string.len()));
        self.0.extend(string);
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// Returns the packet with its length.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let bytes = length(self.0.len() - 4).to_be_bytes();
        if let Some(first) = self.0.first_chunk_mut() {
            *first = bytes;
        }
        self.0
    }
}

fn length(length: usize) -> u32 {
    u32::try_from(length).expect("a packet is shorter than 4 GiB")
}
