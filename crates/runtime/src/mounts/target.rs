use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::as_text::described_as_text;

/// Directories that every sandbox needs; nothing can be mounted at or below them.
const RESERVED: [&str; 3] = ["/proc", "/sys", "/run/msb"];
/// A directory below which mounts are possible, but not at it.
const RESERVED_ITSELF: &str = "/dev";

/// A path in the guest to mount at: absolute, without `.`, `..` and double slashes, not `/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Target(String);

/// A path at which nothing can be mounted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTarget {
    /// The path is not absolute.
    #[error("'{path}' is not a path in the sandbox: it does not begin with '/'")]
    Relative {
        /// The path that was given.
        path: String,
    },
    /// The path contains a NUL.
    #[error("'{}' contains a NUL", .path.escape_debug())]
    Nul {
        /// The path that was given.
        path: String,
    },
    /// The path is the root, or leads above it.
    #[error("cannot mount at '{path}': it is the sandbox's root, which the image provides")]
    Root {
        /// The path that was given.
        path: String,
    },
    /// Every sandbox has its own directory at the path.
    #[error("cannot mount at '{path}': every sandbox has its own mount there")]
    Reserved {
        /// The path, without `.`, `..` and double slashes.
        path: String,
    },
}

impl Target {
    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the number of names in the path.
    pub(crate) fn depth(&self) -> usize {
        self.0.matches('/').count()
    }

    /// Returns true if `path`, read from the root, is this one or below it. Symlinks are ignored.
    pub fn covers(&self, path: &[u8]) -> bool {
        let mut names: Vec<&[u8]> = Vec::new();
        for name in path.split(|&byte| byte == b'/') {
            match name {
                b"" | b"." => {}
                b".." => {
                    names.pop();
                }
                name => names.push(name),
            }
        }
        let own = self.0.split('/').skip(1).map(str::as_bytes);
        let mut names = names.into_iter();
        own.into_iter().all(|name| names.next() == Some(name))
    }
}

impl FromStr for Target {
    type Err = InvalidTarget;

    fn from_str(path: &str) -> Result<Self, InvalidTarget> {
        let path = path.to_owned();
        if !path.starts_with('/') {
            return Err(InvalidTarget::Relative { path });
        }
        if path.contains('\0') {
            return Err(InvalidTarget::Nul { path });
        }
        let mut clean = String::new();
        for name in path.split('/') {
            match name {
                "" | "." => {}
                ".." => clean.truncate(clean.rfind('/').unwrap_or(0)),
                name => {
                    clean.push('/');
                    clean.push_str(name);
                }
            }
        }
        if clean.is_empty() {
            return Err(InvalidTarget::Root { path });
        }
        let target = Self(clean);
        let is_reserved =
            |reserved: &&str| Self((*reserved).to_owned()).covers(target.0.as_bytes());
        if RESERVED.iter().any(is_reserved) || target.as_str() == RESERVED_ITSELF {
            return Err(InvalidTarget::Reserved { path: target.0 });
        }
        Ok(target)
    }
}

described_as_text!(Target);

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_made_plain() {
        for (path, plain) in [
            ("/a", "/a"),
            ("//a/./b/", "/a/b"),
            ("/a/../b", "/b"),
            ("/../a", "/a"),
            ("/dev/shm", "/dev/shm"),
            ("/run/x", "/run/x"),
            ("/a b", "/a b"),
        ] {
            assert_eq!(
                path.parse::<Target>().map(String::from),
                Ok(plain.to_owned())
            );
        }
        for path in [
            "",
            "a",
            "./a",
            "/",
            "//",
            "/a/..",
            "/..",
            "/proc",
            "/proc/x",
            "/sys",
            "/dev",
            "/run/msb/x",
            "/a\0b",
        ] {
            assert!(path.parse::<Target>().is_err(), "{path:?}");
        }
    }

    #[test]
    fn what_lies_below_is_covered() {
        let target: Target = "/a/b".parse().expect("a target");
        for path in ["/a/b", "a/b", "/a/b/", "/a/b/c", "/a/./x/../b/c"] {
            assert!(target.covers(path.as_bytes()), "{path}");
        }
        for path in ["/a", "/a/bc", "/b", "/", "/a/b/.."] {
            assert!(!target.covers(path.as_bytes()), "{path}");
        }
    }
}
