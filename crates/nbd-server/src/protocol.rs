//! The numbers of the protocol.

/// The first bytes that a server sends: `NBDMAGIC`.
pub(crate) const SERVER_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// The magic of an option: `IHAVEOPT`.
pub(crate) const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// The magic of the reply to an option.
pub(crate) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// The magic of a request.
pub(crate) const REQUEST_MAGIC: u32 = 0x2560_9513;
/// The magic of a simple reply.
pub(crate) const REPLY_MAGIC: u32 = 0x6744_6698;

/// The longest payload of a read or a write, in bytes: what clients assume that are told no limit.
pub const REQUEST_MAX_BYTES: u32 = 32 << 20;
/// The size of requests that cost least, in bytes.
pub(crate) const REQUEST_PREFERRED_BYTES: u32 = 4096;
/// The smallest size of requests, in bytes.
pub(crate) const REQUEST_MIN_BYTES: u32 = 1;

/// The longest data of an option, in bytes: the longest name, 4,096 bytes, and 2,000 requested facts.
pub(crate) const OPTION_MAX_BYTES: u32 = 8192;
/// The number of options in a handshake. QEMU and libnbd send fewer than ten.
pub(crate) const OPTIONS_MAX: usize = 64;

/// The flags of both sides of a handshake.
pub(crate) mod handshake_flag {
    /// Options that are unknown get an answer.
    pub(crate) const FIXED_NEWSTYLE: u16 = 1 << 0;
    /// No zeros follow the answer to `EXPORT_NAME`.
    pub(crate) const NO_ZEROES: u16 = 1 << 1;
}

/// The options of a handshake.
pub(crate) mod option {
    pub(crate) const EXPORT_NAME: u32 = 1;
    pub(crate) const ABORT: u32 = 2;
    pub(crate) const LIST: u32 = 3;
    pub(crate) const INFO: u32 = 6;
    pub(crate) const GO: u32 = 7;
}

/// The kinds of replies to options.
pub(crate) mod option_reply {
    pub(crate) const ACK: u32 = 1;
    pub(crate) const SERVER: u32 = 2;
    pub(crate) const INFO: u32 = 3;
    pub(crate) const UNSUPPORTED: u32 = (1 << 31) + 1;
    pub(crate) const INVALID: u32 = (1 << 31) + 3;
    pub(crate) const UNKNOWN_EXPORT: u32 = (1 << 31) + 6;
}

/// The facts about an export.
pub(crate) mod info {
    pub(crate) const EXPORT: u16 = 0;
    pub(crate) const BLOCK_SIZE: u16 = 3;
}

/// The features of the export: flags, flush, forced unit access, trim and write-zeroes.
pub(crate) const TRANSMISSION_FLAGS: u16 = 1 << 0 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6;

/// The kinds of requests.
pub(crate) mod command {
    pub(crate) const READ: u16 = 0;
    pub(crate) const WRITE: u16 = 1;
    pub(crate) const DISCONNECT: u16 = 2;
    pub(crate) const FLUSH: u16 = 3;
    pub(crate) const TRIM: u16 = 4;
    pub(crate) const WRITE_ZEROES: u16 = 6;
}

/// The flags of requests.
pub(crate) mod command_flag {
    /// The change is durable before the reply.
    pub(crate) const FORCED_UNIT_ACCESS: u16 = 1 << 0;
    /// Zeros are written, so that the range keeps its space.
    pub(crate) const NO_HOLE: u16 = 1 << 1;
}

/// The errors of replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestError {
    NotPermitted,
    Io,
    NoMemory,
    Invalid,
    NoSpace,
}

impl RequestError {
    /// Returns the number that is sent.
    pub(crate) const fn number(self) -> u32 {
        match self {
            Self::NotPermitted => 1,
            Self::Io => 5,
            Self::NoMemory => 12,
            Self::Invalid => 22,
            Self::NoSpace => 28,
        }
    }
}
