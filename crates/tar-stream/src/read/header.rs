use fstree::{Device, Timestamp};

use super::number;
use crate::BLOCK_BYTES;
use crate::entry::EntryKind;
use crate::error::InvalidHeader;

/// One decoded header block, without the values of extended headers.
#[derive(Debug, Clone)]
pub(super) struct Header {
    /// The fields `prefix` and `name`, joined by `/`.
    pub(super) path: Vec<u8>,
    /// The target of a link, from `linkname`.
    pub(super) link: Vec<u8>,
    /// The type of the entry, from `typeflag`.
    type_flag: u8,
    /// The twelve permission bits of `mode`.
    pub(super) mode: u16,
    /// The owner, from `uid`, unchecked.
    pub(super) uid: i64,
    /// The group, from `gid`, unchecked.
    pub(super) gid: i64,
    /// The size in bytes, from `size`, unchecked.
    size_bytes: i64,
    /// The time of the last change, from `mtime`.
    pub(super) mtime: Timestamp,
    /// The device number, from `devmajor` and `devminor`.
    device: Device,
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
    ///
    /// # Errors
    /// The checksum does not match, or a field is not a number in range.
    pub(super) fn parse(block: &[u8; BLOCK_BYTES]) -> Result<Self, InvalidHeader> {
        check_sum(block)?;
        let dialect = Dialect::detect(block);
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

    /// Returns `typeflag`, the type of the entry.
    pub(super) const fn type_flag(&self) -> u8 {
        self.type_flag
    }

    /// Returns true if the header extends the next one. Its body belongs to
    /// [`Extensions::add`](super::extensions::Extensions::add).
    pub(super) const fn is_extension(&self) -> bool {
        matches!(self.type_flag, b'x' | b'g' | b'L' | b'K')
    }

    /// Returns `size`: the bytes that follow if the type has content. Other types may state any
    /// size.
    ///
    /// # Errors
    /// The size is negative.
    pub(super) fn size_bytes(&self) -> Result<u64, InvalidHeader> {
        u64::try_from(self.size_bytes).map_err(|_| InvalidHeader::Number { field: "size" })
    }

    /// Returns true for GNU's type of sparse files. star uses the same type for another layout.
    pub(super) const fn is_gnu_sparse(&self) -> bool {
        self.type_flag == b'S'
    }

    /// Returns the type of an entry with this path.
    pub(super) fn kind(&self, path: &[u8]) -> Result<EntryKind, InvalidHeader> {
        Ok(match self.type_flag {
            // The oldest tars marked directories only by the slash.
            0 if path.ends_with(b"/") => EntryKind::Directory,
            0 | b'0' | b'S' => EntryKind::Regular,
            b'1' => EntryKind::Hardlink,
            b'2' => EntryKind::Symlink,
            b'3' => EntryKind::CharDevice(self.device),
            b'4' => EntryKind::BlockDevice(self.device),
            b'5' => EntryKind::Directory,
            b'6' => EntryKind::Fifo,
            code => return Err(InvalidHeader::Type { code }),
        })
    }
}

impl Dialect {
    fn detect(block: &[u8; BLOCK_BYTES]) -> Self {
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

/// Returns true if a GNU header has a prefix in the place of its two times. At least one of the two
/// is then not a number. Go wrote such headers before 1.8 and still reads them.
fn has_misplaced_prefix(block: &[u8; BLOCK_BYTES]) -> bool {
    let is_none = |field: &[u8]| field[0] != 0 && number::field(field).is_none();
    (is_none(&block[345..357]) || is_none(&block[357..369])) && text(&block[345..500]).is_ascii()
}

/// Returns true if the block is a GNU header.
pub(super) fn is_gnu(block: &[u8; BLOCK_BYTES]) -> bool {
    Dialect::detect(block) == Dialect::Gnu
}

/// Returns a text field up to its first NUL.
pub(super) fn text(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or(bytes)
}

fn signed(bytes: &[u8], field: &'static str) -> Result<i64, InvalidHeader> {
    number::field(bytes).ok_or(InvalidHeader::Number { field })
}

/// Checks the sum of all bytes, with those of the sum itself as spaces. Old tars summed signed
/// bytes.
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
