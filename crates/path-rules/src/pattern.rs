use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::excerpt::excerpt;
use crate::{folded, names};

/// The longest pattern, in bytes. A path of Linux has at most as many.
pub const PATTERN_MAX_BYTES: usize = 4096;
/// The most names of a pattern. Trees of sources and of packages have at most 30 levels.
pub const PATTERN_MAX_NAMES: usize = 128;
/// The most `*`, `?` and `**` of a pattern.
pub const PATTERN_MAX_WILDCARDS: usize = 32;

/// A pattern of paths, relative to a directory.
///
/// As in `.gitignore`, a pattern without a slash, such as `.env` or `*.pem`, matches a name in any
/// directory. A pattern with a slash at its beginning or within, such as `/build` or `docs/*.md`, is
/// anchored: it matches from the directory itself. A slash at the end is ignored. `/` and `.` match the
/// directory itself.
///
/// `*` matches any number of characters of one name, and `?` one of them. `**` as a whole name matches
/// any number of names, at the end of a pattern at least one. A character is one of UTF-8, or a byte
/// that is no part of one. Unlike in `.gitignore` there are no classes and no escapes, so that
/// `app/[id]` matches the path that it spells.
///
/// In JSON a pattern is a string, or `{"bytes": "BASE64"}` if it is not UTF-8.
///
/// # Examples
///
/// ```
/// use path_rules::Pattern;
///
/// assert!(Pattern::parse(b"*.pem")?.matches(b"certificates/server.pem"));
/// assert!(!Pattern::parse(b"/*.pem")?.matches(b"certificates/server.pem"));
/// assert!(Pattern::parse(b"docs/**/*.md")?.matches(b"docs/a/b/c.md"));
/// # Ok::<(), path_rules::InvalidPattern>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: Vec<u8>,
    /// One name if the pattern is not anchored.
    parts: Vec<Part>,
    /// The parts with [`folded`] names.
    folded: Vec<Part>,
    is_anchored: bool,
}

/// A name of a path, in the form in which patterns are compared with it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NameForm<'n> {
    /// The bytes have to be equal.
    Exact(&'n [u8]),
    /// The bytes, or the [`folded`] names, have to be equal.
    Folded { name: &'n [u8], folded: &'n [u8] },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// `**`: any number of names.
    Names,
    /// A name without wildcards.
    Literal(Vec<u8>),
    /// A name with `*` or `?`.
    Wild(Vec<u8>),
}

/// The text is not a [`Pattern`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPattern {
    /// The text has no byte.
    #[error("a path is empty: write . for the directory itself")]
    Empty,
    /// The text is longer than [`PATTERN_MAX_BYTES`].
    #[error("the path '{text}' has {length_bytes} bytes, the limit is {PATTERN_MAX_BYTES}")]
    TooLong {
        /// The beginning of the text, escaped.
        text: String,
        /// Length, in bytes.
        length_bytes: usize,
    },
    /// The text has a name `..`.
    #[error(
        "the path '{text}' has a name '..': write it from the directory that the rules are for"
    )]
    Parent {
        /// The beginning of the text, escaped.
        text: String,
    },
    /// The text has a NUL byte, which no name has.
    #[error("the path '{text}' has a NUL byte")]
    Nul {
        /// The beginning of the text, escaped.
        text: String,
    },
    /// The text has more names than [`PATTERN_MAX_NAMES`].
    #[error("the path '{text}' has {count} names, the limit is {PATTERN_MAX_NAMES}")]
    Names {
        /// The beginning of the text, escaped.
        text: String,
        /// Number of names.
        count: usize,
    },
    /// The text has more wildcards than [`PATTERN_MAX_WILDCARDS`].
    #[error("the path '{text}' has {count} wildcards, the limit is {PATTERN_MAX_WILDCARDS}")]
    Wildcards {
        /// The beginning of the text, escaped.
        text: String,
        /// Number of wildcards.
        count: usize,
    },
}

impl Diagnose for InvalidPattern {
    fn diagnosis(&self) -> Diagnosis {
        let diagnosis = Diagnosis::new(ErrorKind::InvalidArgument);
        match self {
            Self::Empty => diagnosis,
            Self::TooLong { text, .. }
            | Self::Parent { text }
            | Self::Nul { text }
            | Self::Names { text, .. }
            | Self::Wildcards { text, .. } => diagnosis.detail("path", text),
        }
    }
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// If the text is empty, over a limit, or has a name `..` or a NUL byte.
    pub fn parse(text: &[u8]) -> Result<Self, InvalidPattern> {
        if text.is_empty() {
            return Err(InvalidPattern::Empty);
        }
        let shown = || excerpt(text);
        if text.len() > PATTERN_MAX_BYTES {
            return Err(InvalidPattern::TooLong {
                text: shown(),
                length_bytes: text.len(),
            });
        }
        if text.contains(&0) {
            return Err(InvalidPattern::Nul { text: shown() });
        }
        if names(text).any(|name| name == b"..") {
            return Err(InvalidPattern::Parent { text: shown() });
        }
        let mut parts: Vec<Part> = names(text).map(Part::new).collect();
        parts.dedup_by(|next, part| matches!((next, part), (Part::Names, Part::Names)));
        if parts.len() > PATTERN_MAX_NAMES {
            return Err(InvalidPattern::Names {
                text: shown(),
                count: parts.len(),
            });
        }
        let wildcards = parts.iter().map(Part::wildcards).sum();
        if wildcards > PATTERN_MAX_WILDCARDS {
            return Err(InvalidPattern::Wildcards {
                text: shown(),
                count: wildcards,
            });
        }
        if let [Part::Names, Part::Literal(_) | Part::Wild(_)] = &parts[..] {
            // `**/name` is another way to write `name`.
            parts.remove(0);
            return Ok(Self {
                text: text.to_vec(),
                folded: parts.iter().map(Part::folded).collect(),
                parts,
                is_anchored: false,
            });
        }
        let end = text.iter().rposition(|&byte| byte != b'/');
        let has_slash = text[..end.unwrap_or_default()].contains(&b'/');
        let is_anchored = has_slash || !matches!(parts[..], [Part::Literal(_) | Part::Wild(_)]);
        Ok(Self {
            text: text.to_vec(),
            folded: parts.iter().map(Part::folded).collect(),
            parts,
            is_anchored,
        })
    }

    /// Returns the text that the pattern was parsed from.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// Returns true if the pattern matches a path, which is relative to the directory, and empty for the
    /// directory itself. A path below a matched one is not matched by that.
    #[must_use]
    pub fn matches(&self, path: &[u8]) -> bool {
        if !self.is_anchored {
            return names(path)
                .last()
                .is_some_and(|name| self.is_name(NameForm::Exact(name)));
        }
        let mut is_matched = self.parts.is_empty();
        let mut open = vec![0];
        for name in names(path) {
            let mut next = Vec::new();
            is_matched = false;
            for index in open {
                is_matched |=
                    self.step(index, NameForm::Exact(name), &mut |index| next.push(index));
            }
            next.sort_unstable();
            next.dedup();
            open = next;
        }
        is_matched
    }

    /// Returns true if the pattern matches from the directory itself, and false if it matches a name in
    /// any directory.
    pub(crate) const fn is_anchored(&self) -> bool {
        self.is_anchored
    }

    /// Returns true if the pattern matches only the directory itself.
    pub(crate) const fn is_root(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns true if a pattern that is not anchored matches a name.
    pub(crate) fn is_name(&self, name: NameForm<'_>) -> bool {
        !self.parts.is_empty() && self.is_part(0, name)
    }

    /// Returns true if the part at an index matches exactly this name.
    fn is_part(&self, index: usize, name: NameForm<'_>) -> bool {
        let is_name =
            |parts: &[Part], name| parts.get(index).is_some_and(|part| part.is_name(name));
        match name {
            NameForm::Exact(name) => is_name(&self.parts, name),
            NameForm::Folded { name, folded } => {
                is_name(&self.parts, name) || is_name(&self.folded, folded)
            }
        }
    }

    /// Matches one name against the parts of an anchored pattern from an index on. Calls `keep` with each
    /// index from which the names behind it have to be matched. Returns true if the pattern ends with
    /// the name.
    pub(crate) fn step(
        &self,
        index: usize,
        name: NameForm<'_>,
        keep: &mut dyn FnMut(usize),
    ) -> bool {
        let mut is_matched = false;
        for (index, part) in self.parts.iter().enumerate().skip(index) {
            let is_last = index + 1 == self.parts.len();
            if matches!(part, Part::Names) {
                keep(index);
                is_matched |= is_last;
                // `**` may also match no name, and the next part this one.
                continue;
            }
            if self.is_part(index, name) {
                is_matched |= is_last;
                if !is_last {
                    keep(index + 1);
                }
            }
            break;
        }
        is_matched
    }
}

impl Part {
    fn new(name: &[u8]) -> Self {
        match name {
            b"**" => Self::Names,
            name if name.iter().any(|byte| b"*?".contains(byte)) => Self::Wild(name.to_vec()),
            name => Self::Literal(name.to_vec()),
        }
    }

    fn folded(&self) -> Self {
        match self {
            Self::Names => Self::Names,
            Self::Literal(name) => Self::Literal(folded(name).into_bytes()),
            Self::Wild(name) => Self::Wild(folded(name).into_bytes()),
        }
    }

    fn wildcards(&self) -> usize {
        match self {
            Self::Names => 1,
            Self::Literal(_) => 0,
            Self::Wild(name) => name.iter().filter(|byte| b"*?".contains(byte)).count(),
        }
    }

    /// Returns true if the part matches exactly this name.
    fn is_name(&self, name: &[u8]) -> bool {
        match self {
            Self::Names => false,
            Self::Literal(literal) => literal == name,
            Self::Wild(pattern) => is_wild_name(pattern, name),
        }
    }
}

/// Returns true if a pattern of one name matches. Only the last `*` is tried again, so the time is at most
/// the product of both lengths.
fn is_wild_name(pattern: &[u8], name: &[u8]) -> bool {
    let mut retry: Option<(&[u8], &[u8])> = None;
    let (mut pattern, mut name) = (pattern, name);
    loop {
        match (pattern, name) {
            ([b'*', after @ ..], _) => {
                retry = Some((after, name));
                pattern = after;
                continue;
            }
            ([], []) => return true,
            ([b'?', after @ ..], [_, ..]) => {
                (pattern, name) = (after, &name[character_length(name)..]);
                continue;
            }
            ([byte, after @ ..], [first, others @ ..]) if byte == first => {
                (pattern, name) = (after, others);
                continue;
            }
            _ => {}
        }
        let Some((after, tried @ [_, ..])) = retry else {
            return false;
        };
        let others = &tried[character_length(tried)..];
        retry = Some((after, others));
        (pattern, name) = (after, others);
    }
}

/// Returns the length of the first character of a name, in bytes; 1 for a byte that is not UTF-8.
fn character_length(name: &[u8]) -> usize {
    let length = (2..=4).find(|&length| {
        let character = name.get(..length).map(std::str::from_utf8);
        matches!(character, Some(Ok(text)) if text.chars().count() == 1)
    });
    length.unwrap_or(1)
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&excerpt(&self.text))
    }
}

impl FromStr for Pattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        Self::parse(text.as_bytes())
    }
}

/// The two forms in JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "a path is expected")]
enum Form {
    Text(String),
    Bytes { bytes: String },
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match std::str::from_utf8(&self.text) {
            Ok(text) => Form::Text(text.to_owned()),
            Err(_) => Form::Bytes {
                bytes: STANDARD.encode(&self.text),
            },
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Form::deserialize(deserializer)? {
            Form::Text(text) => text.into_bytes(),
            Form::Bytes { bytes } => STANDARD.decode(bytes).map_err(serde::de::Error::custom)?,
        };
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
