use std::fmt;

use crate::error::StorageError;
use crate::storage::Storage;

/// Length of an identifier, in bytes.
pub(crate) const ID_BYTES: usize = 16;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; ID_BYTES]);

        impl $name {
            /// Makes an identifier from random bytes; `None` if all are zero, which stands for
            /// "none" in the files.
            pub fn from_bytes(bytes: [u8; ID_BYTES]) -> Option<Self> {
                (bytes != [0; ID_BYTES]).then_some(Self(bytes))
            }

            /// Returns the bytes of the identifier.
            pub const fn to_bytes(self) -> [u8; ID_BYTES] {
                self.0
            }

            /// Reads 32 lower-case hexadecimal digits; `None` if `text` is something else.
            pub fn parse(text: &str) -> Option<Self> {
                Self::from_bytes(parse_hex(text)?)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, formatter)
            }
        }
    };
}

id! {
    /// The identifier of a generation: 16 random bytes, never used for another one.
    GenerationId
}
id! {
    /// The identifier of a disk: 16 random bytes.
    DiskId
}

fn parse_hex(text: &str) -> Option<[u8; ID_BYTES]> {
    let is_hex = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 2 * ID_BYTES || !text.as_bytes().iter().all(is_hex) {
        return None;
    }
    let mut bytes = [0; ID_BYTES];
    for (byte, index) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(text.get(index..index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// Draws an identifier.
pub(crate) fn draw<S: Storage, T>(
    storage: &S,
    from_bytes: impl Fn([u8; 16]) -> Option<T>,
) -> Result<T, StorageError> {
    loop {
        let bytes = storage.random();
        let bytes = bytes.map_err(StorageError::of("draw", "an identifier"))?;
        if let Some(id) = from_bytes(bytes) {
            return Ok(id);
        }
    }
}
