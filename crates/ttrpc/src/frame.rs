//! Frames: a header, and the message behind it.

/// The length of a frame's header, in bytes.
pub const HEADER_BYTES: usize = 10;
/// The most bytes of a frame's message. It is the limit of all implementations.
pub const MESSAGE_MAX_BYTES: u32 = 4 << 20;
/// The flag of a request whose client sends further messages.
pub const STREAM_OPEN: u8 = 0x2;

/// The kind of a frame's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// A call, number 1.
    Request,
    /// The answer to a call, number 2.
    Response,
    /// A part of a streaming call, number 3.
    Data,
    /// Another number.
    Unknown(u8),
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// The length of the message, in bytes.
    pub length_bytes: u32,
    /// The number of the call on its connection; odd, because clients make all calls.
    pub stream: u32,
    /// The kind of the message.
    pub kind: FrameKind,
    /// Flags of streaming calls.
    pub flags: u8,
}

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The number of the call on its connection.
    pub stream: u32,
    /// The kind of the message.
    pub kind: FrameKind,
    /// Flags of streaming calls.
    pub flags: u8,
    /// The message.
    pub message: Vec<u8>,
}

impl FrameKind {
    fn number(self) -> u8 {
        match self {
            Self::Request => 1,
            Self::Response => 2,
            Self::Data => 3,
            Self::Unknown(number) => number,
        }
    }

    fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Request,
            2 => Self::Response,
            3 => Self::Data,
            number => Self::Unknown(number),
        }
    }
}

impl FrameHeader {
    /// Reads a header.
    #[must_use]
    pub fn parse(bytes: [u8; HEADER_BYTES]) -> Self {
        let [l0, l1, l2, l3, s0, s1, s2, s3, kind, flags] = bytes;
        Self {
            length_bytes: u32::from_be_bytes([l0, l1, l2, l3]),
            stream: u32::from_be_bytes([s0, s1, s2, s3]),
            kind: FrameKind::from_number(kind),
            flags,
        }
    }

    /// Returns the bytes of the header.
    #[must_use]
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let [l0, l1, l2, l3] = self.length_bytes.to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        let (kind, flags) = (self.kind.number(), self.flags);
        [l0, l1, l2, l3, s0, s1, s2, s3, kind, flags]
    }
}

impl Frame {
    /// Returns the bytes of the frame; `None` if its message is longer than [`MESSAGE_MAX_BYTES`].
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let length_bytes = u32::try_from(self.message.len()).ok()?;
        if length_bytes > MESSAGE_MAX_BYTES {
            return None;
        }
        let header = FrameHeader {
            length_bytes,
            stream: self.stream,
            kind: self.kind,
            flags: self.flags,
        };
        Some([&header.to_bytes()[..], &self.message].concat())
    }
}
