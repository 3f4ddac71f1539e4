use std::fmt;

/// A part of an archive: a file of its tar, or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The record.
    Record,
    /// The disk.
    Disk,
    /// An image of the staged directories, by its number from 0 on.
    Image(usize),
    /// The digests.
    Checksums,
    /// The end, behind the tar.
    End,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record => f.write_str("snapshot.json"),
            Self::Disk => f.write_str("disk.img"),
            Self::Image(number) => write!(f, "staged-{number}.erofs"),
            Self::Checksums => f.write_str("checksums.json"),
            Self::End => f.write_str("its end"),
        }
    }
}
