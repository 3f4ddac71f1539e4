use tar_stream::WriteError;

use crate::CompareError;

/// A reason why two trees do not make a layer.
#[derive(Debug, thiserror::Error)]
pub enum LayerError<E: std::error::Error + 'static> {
    /// The trees cannot be compared.
    #[error("cannot compare the files")]
    Compare(#[from] CompareError<E>),
    /// A name begins with `.wh.`, by which layers name whiteouts.
    #[error("'{}' cannot be part of a layer: names that begin with '.wh.' remove files there", .path.escape_ascii())]
    ReservedName {
        /// Path of the file, with a leading `/`.
        path: Vec<u8>,
    },
    /// A path is longer than readers of archives accept.
    #[error("a path of {length_bytes} bytes cannot be part of a layer, the limit is {limit_bytes}: '{}...'", .start.escape_ascii())]
    LongPath {
        /// The first bytes of the path, with a leading `/`.
        start: Vec<u8>,
        /// Length of the path, in bytes.
        length_bytes: usize,
        /// The limit, in bytes.
        limit_bytes: usize,
    },
    /// The content of a file cannot be read.
    #[error("cannot read '{}'", .path.escape_ascii())]
    Content {
        /// Path of the file, with a leading `/`.
        path: Vec<u8>,
        /// The error of the side that the file belongs to.
        #[source]
        source: E,
    },
    /// The output fails, or the archive cannot store an entry.
    #[error("cannot write the layer")]
    Write(#[from] WriteError),
}
