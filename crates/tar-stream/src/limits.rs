use std::fmt;

/// The limits of an archive's reader on memory and on bytes that are skipped.
///
/// ```
/// let limits = tar_stream::Limits { path_bytes: 4096, ..Default::default() };
/// assert_eq!(limits.record_bytes, 1 << 20);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest path and longest link target, in bytes.
    pub path_bytes: u64,
    /// Longest body of a PAX header, longest GNU long name and longest sparse map, in bytes.
    pub record_bytes: u64,
    /// Most segments of one sparse file.
    pub segments: u64,
    /// Most bytes after the two zero blocks that end an archive.
    pub trailing_bytes: u64,
}

/// The name of one field of [`Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The limit of [`Limits::path_bytes`].
    Path,
    /// The limit of [`Limits::record_bytes`].
    Record,
    /// The limit of [`Limits::segments`].
    Segments,
    /// The limit of [`Limits::trailing_bytes`].
    Trailing,
}

/// An archive exceeds a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exceeded {
    /// The limit that is exceeded.
    pub limit: Limit,
    /// The limit's value, in the unit of its field.
    pub value: u64,
}

impl Default for Limits {
    /// Returns limits that every archive of real files satisfies.
    fn default() -> Self {
        Self {
            path_bytes: 16 << 10,
            record_bytes: 1 << 20,
            segments: 1 << 17,
            trailing_bytes: 64 << 20,
        }
    }
}

impl Limits {
    /// Returns a limit's value, in the unit of its field.
    pub const fn get(&self, limit: Limit) -> u64 {
        match limit {
            Limit::Path => self.path_bytes,
            Limit::Record => self.record_bytes,
            Limit::Segments => self.segments,
            Limit::Trailing => self.trailing_bytes,
        }
    }

    /// Checks that an amount is within a limit.
    ///
    /// # Errors
    /// The amount is greater than the limit.
    pub const fn check(&self, limit: Limit, amount: u64) -> Result<(), Exceeded> {
        let value = self.get(limit);
        if amount <= value {
            return Ok(());
        }
        Err(Exceeded { limit, value })
    }

    /// Checks that a length in memory is within a limit.
    pub(crate) fn check_length(&self, limit: Limit, length: usize) -> Result<(), Exceeded> {
        self.check(limit, u64::try_from(length).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.limit {
            Limit::Path => write!(f, "a path or link target has more than {value} bytes"),
            Limit::Record => write!(
                f,
                "a PAX header, GNU long name or sparse map has more than {value} bytes"
            ),
            Limit::Segments => write!(f, "a sparse file has more than {value} segments of data"),
            Limit::Trailing => write!(f, "more than {value} bytes follow the archive's end"),
        }
    }
}

impl std::error::Error for Exceeded {}
