use std::fmt;
use std::io;
use std::str::FromStr;

use fstree::ReadAt;
use serde::{Deserialize, Serialize};

use crate::OpenError;
use crate::bytes::{SECTOR_BYTES, read_array};

/// A format of disk images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// The file is the disk.
    Raw,
    /// QEMU's format, version 2 or 3 (docs/interop/qcow2.txt of QEMU).
    Qcow2,
    /// A VMDK that is one file: `monolithicSparse` or `streamOptimized` ("Virtual Disk Format 5.0",
    /// VMware, section "Hosted Sparse Extents").
    Vmdk,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Raw, Self::Qcow2, Self::Vmdk];

    /// Returns the name of the format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Qcow2 => "qcow2",
            Self::Vmdk => "vmdk",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = NoSuchName;

    fn from_str(text: &str) -> Result<Self, NoSuchName> {
        let found = Self::ALL.into_iter().find(|format| format.name() == text);
        found.ok_or(NoSuchName {
            expected: "raw, qcow2 or vmdk",
        })
    }
}

/// A name that no format and no filesystem has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write {expected}")]
pub struct NoSuchName {
    /// The names that are known.
    pub expected: &'static str,
}

/// A file whose format is known and not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is {name}: {remedy}")]
pub struct UnknownFormat {
    /// The name of the format, with an article.
    pub name: &'static str,
    /// The way to a file that can be read, in the imperative.
    pub remedy: &'static str,
}

/// The first bytes of files that are no raw disks, at their offset.
struct Magic {
    offset_bytes: u64,
    bytes: &'static [u8],
    found: Result<Format, UnknownFormat>,
}

const fn other(
    offset_bytes: u64,
    bytes: &'static [u8],
    name: &'static str,
    remedy: &'static str,
) -> Magic {
    Magic {
        offset_bytes,
        bytes,
        found: Err(UnknownFormat { name, remedy }),
    }
}

const fn read(bytes: &'static [u8], format: Format) -> Magic {
    Magic {
        offset_bytes: 0,
        bytes,
        found: Ok(format),
    }
}

const CONVERT: &str = "convert it with qemu-img convert -O qcow2";
const DECOMPRESS: &str = "decompress it first";
const UNPACK: &str = "unpack it first";

const MAGICS: [Magic; 18] = [
    read(b"QFI\xfb", Format::Qcow2),
    read(b"KDMV", Format::Vmdk),
    other(
        0,
        b"# Disk DescriptorFile",
        "a VMDK descriptor, which names other files",
        CONVERT,
    ),
    other(0, b"COWD", "a VMDK of an ESX server", CONVERT),
    other(0, b"conectix", "a VHD", CONVERT),
    other(0, b"vhdxfile", "a VHDX", CONVERT),
    other(0x40, b"\x7f\x10\xda\xbe", "a VDI", CONVERT),
    other(0, b"QED\0", "a QED image", CONVERT),
    other(0, b"WithoutFreeSpace", "a Parallels image", CONVERT),
    other(0, b"WithouFreSpacExt", "a Parallels image", CONVERT),
    other(0, b"\x1f\x8b", "compressed with gzip", DECOMPRESS),
    other(0, b"\xfd7zXZ\0", "compressed with xz", DECOMPRESS),
    other(0, b"\x28\xb5\x2f\xfd", "compressed with zstd", DECOMPRESS),
    other(0, b"BZh", "compressed with bzip2", DECOMPRESS),
    other(0, b"PK\x03\x04", "a ZIP archive", UNPACK),
    other(257, b"ustar", "a tar archive", UNPACK),
    other(0, b"\x7fELF", "a program", "name the file of a disk"),
    other(
        0x8001,
        b"CD001",
        "a CD image",
        "name the file of an installed disk",
    ),
];

/// Bytes of the longest magic.
const MAGIC_MAX_BYTES: usize = 32;

/// Returns the format of a file by its first bytes. A file without a magic is a raw disk.
pub(crate) fn detect(file: &impl ReadAt, file_bytes: u64) -> Result<Format, OpenError> {
    for magic in &MAGICS {
        if has_magic(file, file_bytes, magic)? {
            return Ok(magic.found?);
        }
    }
    // A fixed VHD is a raw disk with a footer.
    let footer = file_bytes.saturating_sub(SECTOR_BYTES);
    let footer: Option<[u8; 8]> = read_array(file, file_bytes, footer)?;
    match footer {
        Some(footer) if &footer == b"conectix" => Err(UnknownFormat {
            name: "a VHD",
            remedy: CONVERT,
        }
        .into()),
        _ => Ok(Format::Raw),
    }
}

fn has_magic(file: &impl ReadAt, file_bytes: u64, magic: &Magic) -> io::Result<bool> {
    let mut bytes = [0; MAGIC_MAX_BYTES];
    let Some(found) = bytes.get_mut(..magic.bytes.len()) else {
        return Ok(false);
    };
    let length = crate::bytes::length_of(found);
    if magic.offset_bytes.saturating_add(length) > file_bytes {
        return Ok(false);
    }
    file.read_exact_at(found, magic.offset_bytes)?;
    Ok(found == magic.bytes)
}
