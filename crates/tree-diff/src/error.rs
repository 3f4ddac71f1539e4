/// A reason why two trees cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError<E> {
    /// The content of a file cannot be read.
    #[error("cannot read '{}'", .path.escape_ascii())]
    Read {
        /// Path of the file, with a leading `/`.
        path: Vec<u8>,
        /// The error of the side that the file belongs to.
        #[source]
        source: E,
    },
    /// The changes take more memory than is allowed.
    #[error("the paths of the changes have more than {limit_bytes} bytes together")]
    TooManyChanges {
        /// The limit, in bytes.
        limit_bytes: usize,
    },
}

/// A reason why a path does not limit a comparison.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{}' contains '..'", .path.escape_ascii())]
pub struct InvalidScope {
    /// The path.
    pub path: Vec<u8>,
}
