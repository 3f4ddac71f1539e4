//! The meaning of one error: its kind, its details and its remedies.

use serde_json::Value;

use super::ErrorKind;
use super::hint::Hint;

/// The meaning of one error in a chain.
#[derive(Debug, Default)]
pub(super) struct Meaning {
    pub(super) kind: Option<ErrorKind>,
    pub(super) details: Vec<(&'static str, Value)>,
    pub(super) hints: Vec<Hint>,
    pub(super) last_words: Vec<String>,
}

impl Meaning {
    /// Returns the meaning of an error of this kind.
    pub(super) fn new(kind: ErrorKind) -> Self {
        Self {
            kind: Some(kind),
            ..Self::default()
        }
    }

    /// Returns the meaning with a named value.
    pub(super) fn detail(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.details.push((key, value.into()));
        self
    }

    /// Returns the meaning with a remedy, if there is one.
    pub(super) fn hint<H: Into<Hint>>(mut self, hint: Option<H>) -> Self {
        self.hints.extend(hint.map(Into::into));
        self
    }

    /// Adds what a cause means to the meaning of the errors above it. The outermost kind counts.
    pub(super) fn add(&mut self, cause: Self) {
        self.kind = self.kind.or(cause.kind);
        self.details.extend(cause.details);
        self.hints.extend(cause.hints);
        self.last_words.extend(cause.last_words);
    }
}
