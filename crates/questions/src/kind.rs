use serde::{Deserialize, Serialize};

/// The kinds of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// A process asks for a path of a staged directory; the subject is the path in the sandbox.
    Path,
    /// A process asks for a connection; the subject is the other end, as `HOST:PORT`.
    Network,
    /// A process opens a file of a shared directory to read it; the subject is the path in the sandbox.
    Read,
    /// A process changes a file of a shared directory; the subject is the path in the sandbox.
    Change,
}

/// The answer allows what the question asks for, or keeps a rule, and this msb does not know the question's kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a question of the kind '{}' can only be denied, and without a rule: this msb does not know the kind",
    .kind.escape_debug()
)]
pub struct UnknownKind {
    /// The word of the question's kind.
    pub kind: String,
}

impl Kind {
    /// Returns the word that the kind has in text and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Network => "network",
            Self::Read => "read",
            Self::Change => "change",
        }
    }

    /// Returns true if the subject is a path.
    pub(crate) const fn has_path(self) -> bool {
        matches!(self, Self::Path | Self::Read | Self::Change)
    }

    /// Returns the kind of a question that can be allowed, by its word. A newer machine may have made it.
    ///
    /// # Errors
    /// If this version does not know the kind.
    pub fn allowable(kind: &str) -> Result<Self, UnknownKind> {
        let all = [Self::Path, Self::Network, Self::Read, Self::Change];
        let known = all.into_iter().find(|one| one.as_str() == kind);
        known.ok_or_else(|| UnknownKind {
            kind: kind.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_question_of_a_known_kind_can_be_allowed() {
        for kind in [Kind::Path, Kind::Network, Kind::Read, Kind::Change] {
            assert_eq!(Kind::allowable(kind.as_str()), Ok(kind));
        }
        for kind in ["unknown", "", "Path", "path "] {
            let refused = Kind::allowable(kind).expect_err(kind);
            assert_eq!(refused.kind, kind);
        }
        let text = Kind::allowable("\u{1b}[2J")
            .expect_err("no kind")
            .to_string();
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
