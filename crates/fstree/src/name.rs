use std::borrow::Borrow;
use std::fmt;

/// The longest name of a directory entry, in bytes (`NAME_MAX`, linux/limits.h).
pub const NAME_MAX_BYTES: usize = 255;

/// One component of a path: 1 to 255 bytes, no `/`, no NUL, neither `.` nor `..`.
///
/// Names are bytes. They are ordered bytewise, with a prefix before a longer name, as in EROFS.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Box<[u8]>);

/// A reason why bytes are not a [`Name`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidName {
    /// The name has no bytes.
    #[error("a file name is empty")]
    Empty,
    /// The name is longer than [`NAME_MAX_BYTES`].
    #[error("a file name has {length_bytes} bytes, the limit is {NAME_MAX_BYTES}")]
    TooLong {
        /// The length, in bytes.
        length_bytes: usize,
    },
    /// The name is `.` or `..`, which are reserved for directories.
    #[error("a file name is '.' or '..'")]
    Dots,
    /// The name holds a byte that is not allowed.
    #[error("a file name holds the byte {byte:#04x}")]
    ForbiddenByte {
        /// The byte, NUL or `/`.
        byte: u8,
    },
}

impl Name {
    /// Returns `bytes` as a name, after checking them.
    ///
    /// # Errors
    /// The bytes are not a name.
    pub fn new(bytes: &[u8]) -> Result<Self, InvalidName> {
        match bytes {
            b"" => return Err(InvalidName::Empty),
            b"." | b".." => return Err(InvalidName::Dots),
            _ if bytes.len() > NAME_MAX_BYTES => {
                return Err(InvalidName::TooLong {
                    length_bytes: bytes.len(),
                });
            }
            _ => {}
        }
        match bytes.iter().find(|byte| matches!(byte, 0 | b'/')) {
            Some(&byte) => Err(InvalidName::ForbiddenByte { byte }),
            None => Ok(Self(bytes.into())),
        }
    }

    /// Returns the name's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Name {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Name {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        let long = [b'x'; 256];
        let cases: [(&[u8], Result<(), InvalidName>); 8] = [
            (b"", Err(InvalidName::Empty)),
            (b".", Err(InvalidName::Dots)),
            (b"..", Err(InvalidName::Dots)),
            (b"...", Ok(())),
            (b"a/b", Err(InvalidName::ForbiddenByte { byte: b'/' })),
            (b"a\0", Err(InvalidName::ForbiddenByte { byte: 0 })),
            (&long[..255], Ok(())),
            (&long, Err(InvalidName::TooLong { length_bytes: 256 })),
        ];
        for (bytes, expected) in cases {
            assert_eq!(
                Name::new(bytes).map(drop),
                expected,
                "{}",
                bytes.escape_ascii()
            );
        }
    }

    #[test]
    fn order_is_bytewise_and_shorter_first() {
        let mut names = [&b"b"[..], b"a\xff", b"a", b"B"].map(|n| Name::new(n).expect("valid"));
        names.sort();
        assert_eq!(
            names.map(|n| n.as_bytes().to_vec()),
            [&b"B"[..], b"a", b"a\xff", b"b"]
        );
    }
}
