use std::io;

use thiserror::Error;

/// A connection ended otherwise than by a disconnect.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The stream failed, or ended within a message.
    #[error("cannot {action}")]
    Io {
        /// The failed operation, a verb and an object.
        action: &'static str,
        /// The I/O error that caused it.
        #[source]
        source: io::Error,
    },
    /// A message does not begin as the protocol says.
    #[error("{message} begins with {found:#x}, not with {expected:#x}")]
    Magic {
        /// The message, with its article.
        message: &'static str,
        /// The number that was received.
        found: u64,
        /// The number of the protocol.
        expected: u64,
    },
    /// The client's handshake flags include unknown ones.
    #[error("the client sent the handshake flags {flags:#x}, of which only {known:#x} are known")]
    ClientFlags {
        /// The flags.
        flags: u32,
        /// The known flags.
        known: u32,
    },
    /// The data of an option is too long.
    #[error("option {option} has {length_bytes} bytes, at most {limit_bytes} are accepted")]
    OptionTooLong {
        /// The number of the option.
        option: u32,
        /// The length of its data, in bytes.
        length_bytes: u32,
        /// The limit, in bytes.
        limit_bytes: u32,
    },
    /// The client negotiates without end.
    #[error("the client sent more than {limit} options")]
    TooManyOptions {
        /// The limit.
        limit: usize,
    },
    /// The client asked for another export in the form that has no answer but the end.
    #[error("the client asked for an export that does not exist")]
    UnknownExport,
    /// The payload of a write is too long.
    #[error("a write has {length_bytes} bytes, at most {limit_bytes} are accepted")]
    WriteTooLong {
        /// The length of the payload, in bytes.
        length_bytes: u32,
        /// The limit, in bytes.
        limit_bytes: u32,
    },
}

impl ServeError {
    pub(crate) fn io(action: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}
