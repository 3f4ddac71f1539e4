/// Size of a sector, in bytes; all lengths in a descriptor count sectors.
pub const SECTOR_BYTES: u64 = 512;
/// Longest file name, in bytes: the limit of common filesystems.
pub const FILE_NAME_MAX_BYTES: usize = 255;
/// Most extents of one disk: the most devices of an EROFS image, and its metadata.
pub const EXTENTS_MAX: usize = 65_536;

/// `CID_NOPARENT`: the content id that stands for "no parent", so no disk may have it.
const NO_PARENT: u32 = 0xffff_ffff;

/// A disk that consists of files, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// `CID`, which changes when the disk's content does.
    pub content_id: u32,
    /// Files in the order of their sectors.
    pub extents: Vec<FlatExtent>,
}

/// A file of a disk, used from its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlatExtent {
    /// Length of the file, in sectors of [`SECTOR_BYTES`].
    pub sectors: u64,
    /// Name of the file, relative to the descriptor's directory.
    pub file_name: String,
}

/// A reason for which no descriptor can describe a disk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidDescriptor {
    /// The disk has no extents.
    #[error("a disk needs at least one extent")]
    NoExtents,
    /// The disk has more than [`EXTENTS_MAX`] extents.
    #[error("a disk has {count} extents, the limit is {EXTENTS_MAX}")]
    TooManyExtents {
        /// Number of extents of the disk.
        count: usize,
    },
    /// An extent has no sectors; readers interpret such extents differently.
    #[error("the extent '{file_name}' has no sectors")]
    EmptyExtent {
        /// File name of the extent.
        file_name: String,
    },
    /// The extents have 2^64 bytes or more in all.
    #[error("the disk is larger than 2^64 bytes")]
    TooLarge,
    /// Some reader would interpret a file name differently.
    #[error("'{}' cannot be an extent's file name: {reason}", .file_name.escape_debug())]
    FileName {
        /// File name that was refused.
        file_name: String,
        /// Property for which it was refused.
        reason: &'static str,
    },
}

impl Descriptor {
    /// Creates a descriptor, if every reader would see the same disk in it. A content id of
    /// 0xffffffff, which no disk may have, becomes 0xfffffffe.
    ///
    /// # Errors
    /// If there are no extents or too many, if an extent is empty, if the disk is too large, or if
    /// readers would interpret a file name differently.
    pub fn new(content_id: u32, extents: Vec<FlatExtent>) -> Result<Self, InvalidDescriptor> {
        let count = extents.len();
        match count {
            0 => return Err(InvalidDescriptor::NoExtents),
            1..=EXTENTS_MAX => {}
            _ => return Err(InvalidDescriptor::TooManyExtents { count }),
        }
        extents.iter().try_for_each(FlatExtent::check)?;
        let sectors = extents
            .iter()
            .try_fold(0_u64, |sum, extent| sum.checked_add(extent.sectors));
        if sectors
            .and_then(|sectors| sectors.checked_mul(SECTOR_BYTES))
            .is_none()
        {
            return Err(InvalidDescriptor::TooLarge);
        }
        Ok(Self {
            content_id: content_id.min(NO_PARENT - 1),
            extents,
        })
    }

    /// Returns the disk's length, in sectors of [`SECTOR_BYTES`].
    #[must_use]
    pub fn total_sectors(&self) -> u64 {
        self.extents
            .iter()
            .fold(0, |sum, extent| sum.saturating_add(extent.sectors))
    }
}

impl FlatExtent {
    fn check(&self) -> Result<(), InvalidDescriptor> {
        if self.sectors == 0 {
            return Err(InvalidDescriptor::EmptyExtent {
                file_name: self.file_name.clone(),
            });
        }
        match fault(&self.file_name) {
            Some(reason) => Err(InvalidDescriptor::FileName {
                file_name: self.file_name.clone(),
                reason,
            }),
            None => Ok(()),
        }
    }
}

/// Returns the property of a file name that some reader misinterprets; `None` if there is none.
fn fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > FILE_NAME_MAX_BYTES {
        Some("it is longer than 255 bytes")
    } else if name.contains('"') {
        Some("it contains a quote")
    } else if name.contains(char::is_control) {
        Some("it contains a control character")
    } else if name.trim() != name {
        Some("it begins or ends with a space")
    } else if name.starts_with('/') {
        Some("it is not relative to the descriptor")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(file_name: &str) -> FlatExtent {
        FlatExtent {
            sectors: 8,
            file_name: file_name.to_owned(),
        }
    }

    #[test]
    fn names_that_readers_take_differently_are_refused() {
        for name in ["", "a\"b", "a\nb", " a", "a ", "/a", &"x".repeat(256)] {
            let refused = Descriptor::new(1, vec![extent(name)]);
            assert!(
                matches!(refused, Err(InvalidDescriptor::FileName { .. })),
                "{name}"
            );
        }
        assert!(Descriptor::new(1, vec![extent("a b%#=:é.erofs")]).is_ok());
    }

    #[test]
    fn disks_without_a_clear_size_are_refused() {
        assert_eq!(
            Descriptor::new(1, vec![]),
            Err(InvalidDescriptor::NoExtents)
        );
        let empty = FlatExtent {
            sectors: 0,
            ..extent("a")
        };
        assert!(matches!(
            Descriptor::new(1, vec![empty]),
            Err(InvalidDescriptor::EmptyExtent { .. })
        ));
        let huge = FlatExtent {
            sectors: u64::MAX / 600,
            ..extent("a")
        };
        assert_eq!(
            Descriptor::new(1, vec![huge.clone(), huge]),
            Err(InvalidDescriptor::TooLarge)
        );
    }

    #[test]
    fn the_content_id_is_never_that_of_no_parent() {
        let descriptor = Descriptor::new(u32::MAX, vec![extent("a")]).expect("valid");
        assert_eq!(descriptor.content_id, 0xffff_fffe);
    }
}
