use std::fmt;
use std::str::FromStr;

use oci_image::{Digest, IndexEntry, Reference, excerpt};

use super::name;

/// The image to load of an archive that has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// A tag, or a full name, as the archive states it.
    Name(String),
    /// The entry at a position, from 0: `@1`.
    Position(usize),
    /// The entry with the digest: `@sha256:…`.
    Digest(Digest),
}

/// An error for a text that chooses no image of an archive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}' does not choose an image of an archive: write a tag, a name, a position such as @0 or a digest such as @sha256:…"
)]
pub struct InvalidChoice {
    text: String,
}

impl FromStr for Choice {
    type Err = InvalidChoice;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidChoice {
            text: excerpt(text),
        };
        match text.strip_prefix('@') {
            None if text.is_empty() => Err(invalid()),
            None => Ok(Self::Name(text.to_owned())),
            Some(rest) => {
                let position = rest.parse().map(Self::Position);
                let digest = || rest.parse().map(Self::Digest).map_err(|_| invalid());
                position.or_else(|_| digest())
            }
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(&excerpt(name)),
            Self::Position(position) => write!(formatter, "@{position}"),
            Self::Digest(digest) => write!(formatter, "@{digest}"),
        }
    }
}

impl Choice {
    /// Returns the entries of a layout that are chosen: those whose name is the text itself; if no entry
    /// has it, those with the same full name, and then those with the tag.
    pub(super) fn entries(&self, entries: Vec<IndexEntry>) -> Vec<IndexEntry> {
        match self {
            Self::Position(position) => entries.into_iter().skip(*position).take(1).collect(),
            Self::Digest(digest) => {
                let is_chosen = |entry: &IndexEntry| entry.descriptor.digest == *digest;
                entries.into_iter().filter(is_chosen).collect()
            }
            Self::Name(wanted) => {
                let levels = entries
                    .into_iter()
                    .map(|entry| (match_level(wanted, name::stated(&entry.annotations)), entry));
                best(levels.collect())
            }
        }
    }

    /// Returns the images of a docker archive that are chosen, with the names to keep, by position.
    pub(super) fn tagged(&self, tags: Vec<Vec<String>>) -> Vec<(usize, Vec<String>)> {
        let all = tags.into_iter().enumerate();
        match self {
            Self::Position(position) => all.skip(*position).take(1).collect(),
            Self::Digest(_) => Vec::new(),
            Self::Name(wanted) => {
                let each =
                    all.flat_map(|(image, tags)| tags.into_iter().map(move |tag| (image, tag)));
                let levels = each
                    .map(|(image, tag)| (match_level(wanted, [tag.as_str()]), (image, vec![tag])))
                    .collect();
                best(levels)
            }
        }
    }
}

/// Returns how well the best of the names fits the wanted one; 0 is best, `None` no fit.
fn match_level<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<u8> {
    let level = |name: &str| {
        if name == wanted {
            return Some(0);
        }
        let full: Reference = name.parse().ok()?;
        if wanted.parse().is_ok_and(|wanted: Reference| wanted == full) {
            return Some(1);
        }
        (full.tag() == Some(wanted)).then_some(2)
    };
    names.into_iter().filter_map(level).min()
}

/// Returns the values of the lowest level.
fn best<T>(levels: Vec<(Option<u8>, T)>) -> Vec<T> {
    let least = levels.iter().filter_map(|(level, _)| *level).min();
    let chosen = levels
        .into_iter()
        .filter(|(level, _)| level.is_some() && *level == least);
    chosen.map(|(_, value)| value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_a_name_a_position_or_a_digest() {
        let digest = Digest::compute(b"");
        for (text, expected) in [
            ("latest", Some(Choice::Name("latest".to_owned()))),
            ("reg.io/a:1", Some(Choice::Name("reg.io/a:1".to_owned()))),
            ("@3", Some(Choice::Position(3))),
            (&format!("@{digest}"), Some(Choice::Digest(digest))),
            ("", None),
            ("@", None),
            ("@-1", None),
            ("@sha256:12", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }

    #[test]
    fn exact_names_win_over_full_names_and_those_over_tags() {
        let tags = || {
            ["docker.io/library/app:1", "app:2", "reg.io/app:1", "2"]
                .map(|tag| vec![tag.to_owned()])
                .to_vec()
        };
        for (text, expected) in [
            ("app:1", &[0][..]),
            ("docker.io/library/app:1", &[0]),
            ("app:2", &[1]),
            ("1", &[0, 2]),
            ("2", &[3]),
            ("3", &[]),
            ("@2", &[2]),
            ("@4", &[]),
        ] {
            let choice: Choice = text.parse().expect(text);
            let chosen = choice.tagged(tags()).into_iter();
            let chosen: Vec<_> = chosen.map(|(image, _)| image).collect();
            assert_eq!(chosen, expected, "{text}");
        }
    }
}
