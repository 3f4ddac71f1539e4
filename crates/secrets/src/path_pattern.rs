use std::fmt::{self, Write as _};
use std::str::FromStr;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};

use crate::method::is_method_list;
use crate::path::{InvalidPath, checked_path};
use crate::shown::shown;

/// Longest path of a rule, in bytes of its text.
const PATTERN_MAX_BYTES: usize = 1024;

/// A path that a rule allows, or all paths that begin with it: `/v1/models` or `/v1/*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathPattern {
    /// The path, decoded once.
    path: String,
    /// True if the path is the beginning of the paths that match.
    is_prefix: bool,
}

/// The text is not a path that a rule can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPathPattern {
    /// The text has a wildcard that is not its last character.
    #[error("'{}' has * before its end: write it as the last character, such as /v1/*", shown(.text))]
    Wildcard {
        /// The refused text.
        text: String,
    },
    /// The text is too long for a rule.
    #[error("the path of a rule has {length_bytes} bytes, the limit is {PATTERN_MAX_BYTES}")]
    TooLong {
        /// Length of the text, in bytes.
        length_bytes: usize,
    },
    /// No path of a request could match.
    #[error("'{}' is not the path of a rule", shown(.text))]
    Path {
        /// The refused text.
        text: String,
        /// The reason.
        source: InvalidPath,
    },
}

impl PathPattern {
    /// Returns true if the pattern matches a result of [`checked_path`].
    #[must_use]
    pub fn matches(&self, checked: &str) -> bool {
        if self.is_prefix {
            checked.starts_with(&self.path)
        } else {
            checked == self.path
        }
    }
}

impl FromStr for PathPattern {
    type Err = InvalidPathPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPathPattern> {
        if text.len() > PATTERN_MAX_BYTES {
            return Err(InvalidPathPattern::TooLong {
                length_bytes: text.len(),
            });
        }
        let refused = || text.to_owned();
        let (path, is_prefix) = match text.strip_suffix('*') {
            Some(path) => (path, true),
            None => (text, false),
        };
        if path.contains('*') {
            return Err(InvalidPathPattern::Wildcard { text: refused() });
        }
        let path = checked_path(path).map_err(|source| InvalidPathPattern::Path {
            text: refused(),
            source,
        })?;
        Ok(Self { path, is_prefix })
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, methods) = match self.path.rsplit_once(':') {
            // Read again, it would be a list of methods.
            Some((path, methods)) if !self.is_prefix && is_method_list(methods) => {
                (path, Some(methods))
            }
            _ => (self.path.as_str(), None),
        };
        write_encoded(f, path)?;
        if let Some(methods) = methods {
            f.write_str("%3A")?;
            write_encoded(f, methods)?;
        }
        f.write_str(if self.is_prefix { "*" } else { "" })
    }
}

/// Writes a path so that it is read as the same path, also in a list.
fn write_encoded(f: &mut fmt::Formatter<'_>, path: &str) -> fmt::Result {
    for byte in path.bytes() {
        if byte.is_ascii_graphic() && !b"%*?#,".contains(&byte) {
            f.write_char(char::from(byte))?;
        } else {
            write!(f, "%{byte:02X}")?;
        }
    }
    Ok(())
}

impl Diagnose for InvalidPathPattern {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Wildcard { .. } | Self::TooLong { .. } => {
                Diagnosis::new(ErrorKind::InvalidArgument)
            }
            Self::Path { source, .. } => {
                Diagnosis::new(ErrorKind::InvalidArgument).caused_by(source.diagnosis())
            }
        }
    }
}
