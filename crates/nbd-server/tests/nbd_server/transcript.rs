//! The bytes that a client sends, written by hand after the protocol, and the answers.

use nbd_server::{Disk, ServeError};

pub(crate) const GO: u32 = 7;
pub(crate) const INFO: u32 = 6;
pub(crate) const FIXED_NO_ZEROES: u32 = 3;

/// The bytes of a client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transcript(pub(crate) Vec<u8>);

impl Transcript {
    /// A client that has sent its flags.
    pub(crate) fn new(flags: u32) -> Self {
        Self(flags.to_be_bytes().to_vec())
    }

    /// A client that is past the handshake.
    pub(crate) fn ready() -> Self {
        Self::new(FIXED_NO_ZEROES).option(GO, &named(b"", &[]))
    }

    pub(crate) fn option(mut self, number: u32, data: &[u8]) -> Self {
        self.0.extend(*b"IHAVEOPT");
        self.0.extend(number.to_be_bytes());
        self.0.extend((data.len() as u32).to_be_bytes());
        self.0.extend(data);
        self
    }

    pub(crate) fn request(
        mut self,
        command: u16,
        flags: u16,
        offset_bytes: u64,
        length_bytes: u32,
    ) -> Self {
        self.0.extend(0x2560_9513_u32.to_be_bytes());
        self.0.extend(flags.to_be_bytes());
        self.0.extend(command.to_be_bytes());
        self.0.extend(*b"a cookie");
        self.0.extend(offset_bytes.to_be_bytes());
        self.0.extend(length_bytes.to_be_bytes());
        self
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// Returns what the server sends, and how it ends.
    pub(crate) fn play<D: Disk>(&self, disk: &mut D) -> (Vec<u8>, Result<(), ServeError>) {
        let mut sent = Vec::new();
        let outcome = nbd_server::serve(self.0.as_slice(), &mut sent, disk);
        (sent, outcome)
    }

    /// Returns what the server sends after the handshake of [`Transcript::ready`], which must end well.
    pub(crate) fn replies<D: Disk>(&self, disk: &mut D) -> Vec<u8> {
        let (sent, outcome) = self.play(disk);
        outcome.unwrap();
        // Greeting 18; replies of 20 bytes each, with 12, 14 and 0 bytes of data.
        sent[18 + 3 * 20 + 12 + 14..].to_vec()
    }
}

/// The data of `INFO` and `GO`.
pub(crate) fn named(name: &[u8], facts: &[u16]) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend(name);
    data.extend((facts.len() as u16).to_be_bytes());
    facts
        .iter()
        .for_each(|fact| data.extend(fact.to_be_bytes()));
    data
}

/// A simple reply.
pub(crate) fn reply(error: u32, payload: &[u8]) -> Vec<u8> {
    let mut reply = 0x6744_6698_u32.to_be_bytes().to_vec();
    reply.extend(error.to_be_bytes());
    reply.extend(*b"a cookie");
    reply.extend(payload);
    reply
}
