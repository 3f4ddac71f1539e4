use fstree::{Device, Timestamp};

use super::{BLOCK_BYTES, number};
use crate::error::InvalidHeader;

/// One header block, decoded; what extended headers say comes on top.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    /// Prefix and name.
    pub(crate) path: Vec<u8>,
    /// `linkname`
    pub(crate) link: Vec<u8>,
    /// `typeflag`
    pub(crate) type_flag: u8,
    /// `mode`, the twelve permission bits of it.
    pub(crate) mode: u16,
    /// `uid`, unchecked.
    pub(crate) uid: i64,
    /// `gid`, unchecked.
    pub(crate) gid: i64,
    /// `size`, unchecked.
    size_bytes: i64,
    /// `mtime`
    pub(crate) mtime: Timestamp,
    /// `devmajor` and `devminor`
    pub(crate) device: Device,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    V7,
    Ustar,
    Star,
    Gnu,
}

impl Header {
    /// Decodes a block that is not all zeros.
    pub(crate) fn parse(block: &[u8; BLOCK_BYTES]) -> Result<Self, InvalidHeader> {
        check_sum(block)?;
        let dialect = Dialect::of(block);
        let seconds = signed(&block[136..148], "mtime")?;
        let mode = signed(&block[100..108], "mode")?;
        Ok(Self {
            path: dialect.path(block),
            link: text(&block[157..257]).to_vec(),
            type_flag: block[156],
            mode: u16::try_from(mode & 0o7777).expect("twelve bits fit sixteen"),
            uid: signed(&block[108..116], "uid")?,
            gid: signed(&block[116..124], "gid")?,
            size_bytes: signed(&block[124..136], "size")?,
            mtime: Timestamp {
                seconds,
                nanoseconds: 0,
            },
            device: dialect.device(block)?,
        })
    }

    /// `size`: bytes that follow, for types that have content. The others may state anything.
    pub(crate) fn content_bytes(&self) -> Result<u64, InvalidHeader> {
        u64::try_from(self.size_bytes).map_err(|_| InvalidHeader::Number { field: "size" })
    }
}

impl Dialect {
    fn of(block: &[u8; BLOCK_BYTES]) -> Self {
        match (&block[257..265], &block[508..512]) {
            (b"ustar  \0", _) => Self::Gnu,
            (magic, b"tar\0") if magic.starts_with(b"ustar\0") => Self::Star,
            (magic, _) if magic.starts_with(b"ustar\0") => Self::Ustar,
            _ => Self::V7,
        }
    }

    fn path(self, block: &[u8; BLOCK_BYTES]) -> Vec<u8> {
        let prefix = match self {
            Self::Ustar => text(&block[345..500]),
            Self::Star => text(&block[345..476]),
            Self::Gnu if has_misplaced_prefix(block) => text(&block[345..500]),
            Self::V7 | Self::Gnu => b"",
        };
        let name = text(&block[..100]);
        if prefix.is_empty() {
            name.to_vec()
        } else {
            [prefix, b"/", name].concat()
        }
    }

    fn device(self, block: &[u8; BLOCK_BYTES]) -> Result<Device, InvalidHeader> {
        if self == Self::V7 {
            return Ok(Device { major: 0, minor: 0 });
        }
        let part = |bytes: &[u8], field| {
            number::field(bytes)
                .and_then(|number| u32::try_from(number).ok())
                .ok_or(InvalidHeader::Number { field })
        };
        Ok(Device {
            major: part(&block[329..337], "devmajor")?,
            minor: part(&block[337..345], "devminor")?,
        })
    }
}

/// Whether a GNU header has a prefix where it may have none: Go wrote such before 1.8, and reads
/// them still. Then the two times that stand there are no numbers.
fn has_misplaced_prefix(block: &[u8; BLOCK_BYTES]) -> bool {
    let is_none = |field: &[u8]| field[0] != 0 && number::field(field).is_none();
    (is_none(&block[345..357]) || is_none(&block[357..369])) && text(&block[345..500]).is_ascii()
}

/// Whether this is a GNU header.
pub(crate) fn is_gnu(block: &[u8; BLOCK_BYTES]) -> bool {
    Dialect::of(block) == Dialect::Gnu
}

/// A text field: up to the first NUL.
pub(crate) fn text(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or(bytes)
}

fn signed(bytes: &[u8], field: &'static str) -> Result<i64, InvalidHeader> {
    number::field(bytes).ok_or(InvalidHeader::Number { field })
}

/// The sum of all bytes, those of the sum itself as spaces. Old tars summed signed bytes.
fn check_sum(block: &[u8; BLOCK_BYTES]) -> Result<(), InvalidHeader> {
    let stated = number::field(&block[148..156]).ok_or(InvalidHeader::Checksum)?;
    let bytes = || {
        let spaces = std::iter::repeat_n(b' ', 8);
        let (before, after) = (&block[..148], &block[156..]);
        before
            .iter()
            .copied()
            .chain(spaces)
            .chain(after.iter().copied())
    };
    let unsigned: i64 = bytes().map(i64::from).sum();
    let signed: i64 = bytes().map(|byte| i64::from(byte.cast_signed())).sum();
    if stated == unsigned || stated == signed {
        Ok(())
    } else {
        Err(InvalidHeader::Checksum)
    }
}
