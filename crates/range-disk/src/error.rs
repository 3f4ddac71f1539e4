use std::io;

/// A reason why a range cannot be the end of a disk.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The length of the source cannot be found out.
    #[error("cannot find out how long the source is")]
    Io(#[source] io::Error),
    /// The source ends before the range.
    #[error(
        "{length_bytes} bytes at byte {offset_bytes} are not in a source of {source_bytes} bytes"
    )]
    Short {
        /// First byte of the range in the source.
        offset_bytes: u64,
        /// Length of the range, in bytes.
        length_bytes: u64,
        /// Length of the source, in bytes.
        source_bytes: u64,
    },
    /// The disk would be too long.
    #[error("a disk of {size_bytes} bytes has no room for {length_bytes} bytes more")]
    TooLong {
        /// Size of the disk, in bytes.
        size_bytes: u64,
        /// Length of the range, in bytes.
        length_bytes: u64,
    },
}
