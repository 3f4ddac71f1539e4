use fstree::{Device, Timestamp};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, IntoBytes};

use super::Layout;
use crate::format::{InodeCompact, InodeExtended};

/// `i_format`, bit 0: set for `struct erofs_inode_extended`.
const EXTENDED: u16 = 1;

/// An inode as stored on disk, in either of the two forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiskInode {
    /// The layout of the content, from bits 1 to 3 of `i_format`.
    pub(crate) layout: Layout,
    /// `i_xattr_icount`: 0 without xattrs, else 1 + (bytes of the xattr area - 12) / 4.
    pub(crate) xattr_icount: u16,
    /// `i_mode`: file type and permissions, as in `st_mode`.
    pub(crate) mode: u16,
    /// Length of the content, in bytes.
    pub(crate) size_bytes: u64,
    /// `i_u`: first block, device number, or chunk format.
    pub(crate) union: u32,
    /// The inode number that 32-bit `stat` reports.
    pub(crate) ino: u32,
    /// The owner's numeric user ID.
    pub(crate) uid: u32,
    /// The numeric group ID.
    pub(crate) gid: u32,
    /// The time of the content's last change.
    pub(crate) mtime: Timestamp,
    /// Number of names, as in `st_nlink`.
    pub(crate) nlink: u32,
}

/// The on-disk structure of an inode, by bit 0 of `i_format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `struct erofs_inode_compact`, 32 bytes: 16-bit ids and links, 32-bit size, build time as
    /// `mtime`.
    Compact,
    /// `struct erofs_inode_extended`, 64 bytes: 32-bit ids and links, 64-bit size, its own `mtime`.
    Extended,
}

impl Form {
    /// Returns the inode's size in bytes.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Compact => size_of::<InodeCompact>(),
            Self::Extended => size_of::<InodeExtended>(),
        }
    }

    /// Returns the inode's size in bytes, as an offset in an image.
    pub(crate) const fn length_bytes(self) -> u64 {
        match self {
            Self::Compact => 32,
            Self::Extended => 64,
        }
    }

    /// Returns the form that `i_format` announces. `None` if it has unknown bits set.
    pub(crate) const fn from_format(i_format: u16) -> Option<Self> {
        match (i_format >> 4, i_format & EXTENDED) {
            (0, 0) => Some(Self::Compact),
            (0, _) => Some(Self::Extended),
            _ => None,
        }
    }
}

impl DiskInode {
    /// Returns the smallest form that loses nothing, in an image whose build time is 0.
    pub(crate) fn form(&self) -> Form {
        let narrow = u16::try_from(self.uid).is_ok()
            && u16::try_from(self.gid).is_ok()
            && u16::try_from(self.nlink).is_ok()
            && u32::try_from(self.size_bytes).is_ok()
            && self.mtime == Timestamp::default();
        if narrow {
            Form::Compact
        } else {
            Form::Extended
        }
    }

    /// Encodes the inode in the form that [`DiskInode::form`] returns.
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.compact().map_or_else(
            || self.extended().as_bytes().to_vec(),
            |compact| compact.as_bytes().to_vec(),
        )
    }

    fn compact(&self) -> Option<InodeCompact> {
        if self.form() == Form::Extended {
            return None;
        }
        Some(InodeCompact {
            i_format: U16::new(self.layout.code() << 1),
            i_xattr_icount: U16::new(self.xattr_icount),
            i_mode: U16::new(self.mode),
            i_nlink: U16::new(u16::try_from(self.nlink).ok()?),
            i_size: U32::new(u32::try_from(self.size_bytes).ok()?),
            i_mtime: U32::new(0),
            i_u: U32::new(self.union),
            i_ino: U32::new(self.ino),
            i_uid: U16::new(u16::try_from(self.uid).ok()?),
            i_gid: U16::new(u16::try_from(self.gid).ok()?),
            i_reserved: U32::new(0),
        })
    }

    fn extended(&self) -> InodeExtended {
        InodeExtended {
            i_format: U16::new(self.layout.code() << 1 | EXTENDED),
            i_xattr_icount: U16::new(self.xattr_icount),
            i_mode: U16::new(self.mode),
            i_reserved: U16::new(0),
            i_size: U64::new(self.size_bytes),
            i_u: U32::new(self.union),
            i_ino: U32::new(self.ino),
            i_uid: U32::new(self.uid),
            i_gid: U32::new(self.gid),
            i_mtime: U64::new(self.mtime.seconds.cast_unsigned()),
            i_mtime_nsec: U32::new(self.mtime.nanoseconds),
            i_nlink: U32::new(self.nlink),
            i_reserved2: [0; 16],
        }
    }

    /// Decodes the inode at the start of `bytes`. `None` if they are too few or the format is
    /// unknown. `build_time` is the `mtime` of compact inodes.
    pub(crate) fn decode(bytes: &[u8], build_time: Timestamp) -> Option<Self> {
        let (i_format, _) = U16::read_from_prefix(bytes).ok()?;
        let layout = Layout::from_code(i_format.get() >> 1 & 7);
        match Form::from_format(i_format.get())? {
            Form::Compact => {
                let (raw, _) = InodeCompact::read_from_prefix(bytes).ok()?;
                Some(Self {
                    layout,
                    xattr_icount: raw.i_xattr_icount.get(),
                    mode: raw.i_mode.get(),
                    size_bytes: u64::from(raw.i_size.get()),
                    union: raw.i_u.get(),
                    ino: raw.i_ino.get(),
                    uid: u32::from(raw.i_uid.get()),
                    gid: u32::from(raw.i_gid.get()),
                    mtime: Timestamp {
                        // Linux before 6.15 ignores `i_mtime`; older images have 0 in it.
                        seconds: build_time.seconds.wrapping_add(raw.i_mtime.get().into()),
                        ..build_time
                    },
                    nlink: u32::from(raw.i_nlink.get()),
                })
            }
            Form::Extended => {
                let (raw, _) = InodeExtended::read_from_prefix(bytes).ok()?;
                Some(Self {
                    layout,
                    xattr_icount: raw.i_xattr_icount.get(),
                    mode: raw.i_mode.get(),
                    size_bytes: raw.i_size.get(),
                    union: raw.i_u.get(),
                    ino: raw.i_ino.get(),
                    uid: raw.i_uid.get(),
                    gid: raw.i_gid.get(),
                    mtime: Timestamp {
                        seconds: raw.i_mtime.get().cast_signed(),
                        nanoseconds: raw.i_mtime_nsec.get(),
                    },
                    nlink: raw.i_nlink.get(),
                })
            }
        }
    }
}

/// Packs a device number as Linux's `new_encode_dev` does. `None` if it does not fit.
pub(crate) const fn device_number(device: Device) -> Option<u32> {
    let Device { major, minor } = device;
    if major > 0xFFF || minor > 0xF_FFFF {
        return None;
    }
    Some((minor & 0xFF) | major << 8 | (minor & !0xFF) << 12)
}

/// Unpacks a number that [`device_number`] packed.
pub(crate) const fn device_from_number(number: u32) -> Device {
    Device {
        major: number >> 8 & 0xFFF,
        minor: (number & 0xFF) | (number >> 12 & 0xF_FF00),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: DiskInode = DiskInode {
        layout: Layout::FlatPlain,
        xattr_icount: 4,
        mode: 0o100_644,
        size_bytes: 12,
        union: 9,
        ino: 3,
        uid: 65_535,
        gid: 1,
        mtime: Timestamp {
            seconds: 0,
            nanoseconds: 0,
        },
        nlink: 1,
    };

    #[test]
    fn the_form_is_the_smallest_that_holds_everything() {
        let wide_id = DiskInode {
            uid: 65_536,
            ..PLAIN
        };
        let big = DiskInode {
            size_bytes: 1 << 32,
            ..PLAIN
        };
        let early = DiskInode {
            mtime: Timestamp {
                seconds: -1,
                nanoseconds: 999_999_999,
            },
            ..PLAIN
        };
        for (inode, form) in [
            (PLAIN, Form::Compact),
            (wide_id, Form::Extended),
            (big, Form::Extended),
            (early, Form::Extended),
        ] {
            let bytes = inode.encode();
            assert_eq!(inode.form(), form);
            assert_eq!(bytes.len(), form.bytes());
            let decoded = DiskInode::decode(&bytes, Timestamp::default());
            assert_eq!(decoded, Some(inode));
        }
    }

    #[test]
    fn device_numbers_pack_like_the_kernel() {
        let device = Device {
            major: 259,
            minor: 70_000,
        };
        assert_eq!(device_number(device), Some(0x1111_0370));
        assert_eq!(device_from_number(0x1111_0370), device);
        let wide = Device {
            major: 4096,
            minor: 0,
        };
        assert_eq!(device_number(wide), None);
    }
}
