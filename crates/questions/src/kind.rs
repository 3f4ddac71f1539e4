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

/// The answer allows a path, and the question is about something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a question of the kind '{}' can only be denied, and without a rule: nothing but a path can be allowed",
    .kind.escape_debug()
)]
pub struct NotAPath {
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

    /// Checks that the subject of a question is a path. `kind` is the word of its kind, which a newer machine may have
    /// made.
    ///
    /// # Errors
    /// If it is another kind.
    pub fn check_path(kind: &str) -> Result<(), NotAPath> {
        let all = [Self::Path, Self::Network, Self::Read, Self::Change];
        let known = all.into_iter().find(|one| one.as_str() == kind);
        if known.is_some_and(Self::has_path) {
            Ok(())
        } else {
            Err(NotAPath {
                kind: kind.to_owned(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_can_be_allowed() {
        for kind in [Kind::Path, Kind::Read, Kind::Change] {
            assert_eq!(Kind::check_path(kind.as_str()), Ok(()));
        }
        for kind in [Kind::Network.as_str(), "unknown", "", "Path", "path "] {
            let refused = Kind::check_path(kind).expect_err(kind);
            assert_eq!(refused.kind, kind);
        }
        let text = Kind::check_path("\u{1b}[2J")
            .expect_err("no kind")
            .to_string();
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
