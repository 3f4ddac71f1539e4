use std::collections::BTreeMap;
use std::mem::discriminant;

use msb_runtime::{Condition, Sandbox as StoredSandbox, UnreadableSandbox};
use serde::{Deserialize, Serialize};

use super::{NamePattern, SandboxState};

/// A condition on listed sandboxes; empty fields select all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SandboxFilter {
    /// Labels that a sandbox must have; a value of `None` accepts any.
    pub labels: BTreeMap<String, Option<String>>,
    /// The state.
    pub state: Option<SandboxState>,
    /// A part of the name.
    pub name: Option<String>,
    /// The image, as it was given at the creation, or its digest.
    pub image: Option<String>,
    /// Further conditions. Of several of one kind one has to hold, but all labels. They are no part
    /// of the serialized form.
    #[serde(skip)]
    pub conditions: Vec<SandboxCondition>,
}

/// A condition on one sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SandboxCondition {
    /// The beginning of the id.
    Id(String),
    /// A part of the name.
    Name(String),
    /// A regular expression for the name.
    NameMatches(NamePattern),
    /// The state; `None` holds for no sandbox.
    State(Option<SandboxState>),
    /// The exit code of a stopped sandbox.
    ExitCode(u8),
    /// A label, with its value unless that is `None`.
    Label(String, Option<String>),
    /// The image, as it was given at the creation, or its digest.
    Image(String),
}

impl SandboxCondition {
    fn holds(&self, sandbox: &StoredSandbox, condition: &Condition) -> bool {
        let spec = &sandbox.spec;
        let state = SandboxState::from(condition.state);
        match self {
            Self::Id(beginning) => spec.id.as_str().starts_with(beginning),
            Self::Name(part) => spec.name.contains(part),
            Self::NameMatches(pattern) => pattern.matches(&spec.name),
            Self::State(wanted) => Some(state) == *wanted,
            Self::ExitCode(code) => {
                let exit = condition.exit.as_ref();
                state == SandboxState::Stopped && exit.is_some_and(|exit| exit.code == *code)
            }
            Self::Image(name) => spec.image == *name || spec.image_digest == *name,
            Self::Label(key, value) => spec
                .labels
                .get(key)
                .is_some_and(|actual| value.as_ref().is_none_or(|wanted| actual == wanted)),
        }
    }
}

impl SandboxCondition {
    fn holds_unreadable(&self, sandbox: &UnreadableSandbox) -> bool {
        match self {
            Self::Id(beginning) => sandbox.id().starts_with(beginning),
            Self::Name(part) => sandbox.name().contains(part),
            Self::NameMatches(pattern) => pattern.matches(sandbox.name()),
            Self::State(wanted) => *wanted == Some(SandboxState::Unreadable),
            Self::Image(digest) => sandbox.image_digest() == Some(digest),
            Self::ExitCode(_) | Self::Label(..) => false,
        }
    }
}

/// Returns true if the conditions hold: `holds` says it of one.
fn all_hold(conditions: &[SandboxCondition], holds: impl Fn(&SandboxCondition) -> bool) -> bool {
    conditions.iter().all(|condition| {
        let is_label = matches!(condition, SandboxCondition::Label(..));
        let mut same_kind = conditions
            .iter()
            .filter(|other| discriminant(*other) == discriminant(condition));
        holds(condition) || !is_label && same_kind.any(&holds)
    })
}

impl SandboxFilter {
    /// Returns a filter that selects all sandboxes.
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects sandboxes in this state.
    #[must_use]
    pub const fn state(mut self, state: SandboxState) -> Self {
        self.state = Some(state);
        self
    }

    /// Selects sandboxes with this label.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), Some(value.into()));
        self
    }

    /// Adds a condition.
    #[must_use]
    pub fn condition(mut self, condition: SandboxCondition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Returns true if the filter selects a sandbox in this condition.
    pub(super) fn holds(&self, sandbox: &StoredSandbox, condition: &Condition) -> bool {
        let spec = &sandbox.spec;
        let has_labels = self.labels.iter().all(|(key, wanted)| {
            let value = spec.labels.get(key);
            value.is_some_and(|value| wanted.as_ref().is_none_or(|wanted| wanted == value))
        });
        let has_name = self
            .name
            .as_ref()
            .is_none_or(|part| spec.name.contains(part));
        let is_image = |image: &String| *image == spec.image || *image == spec.image_digest;
        let has_image = self.image.as_ref().is_none_or(is_image);
        let state = SandboxState::from(condition.state);
        let is_in_state = self.state.is_none_or(|wanted| wanted == state);
        let holds = |wanted: &SandboxCondition| wanted.holds(sandbox, condition);
        has_labels && has_name && has_image && is_in_state && all_hold(&self.conditions, holds)
    }
}

impl SandboxFilter {
    /// Returns true if the filter selects a sandbox whose description cannot be read.
    pub(super) fn holds_unreadable(&self, sandbox: &UnreadableSandbox) -> bool {
        let is_state = |state| state == SandboxState::Unreadable;
        let has_name = |part: &String| sandbox.name().contains(part);
        let is_image = |digest: &String| sandbox.image_digest() == Some(digest);
        let holds = |wanted: &SandboxCondition| wanted.holds_unreadable(sandbox);
        self.labels.is_empty()
            && self.state.is_none_or(is_state)
            && self.name.as_ref().is_none_or(has_name)
            && self.image.as_ref().is_none_or(is_image)
            && all_hold(&self.conditions, holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_condition_of_a_kind_is_enough_but_every_label_counts() {
        let name = |part: &str| SandboxCondition::Name(part.to_owned());
        let label = |key: &str| SandboxCondition::Label(key.to_owned(), None);
        let true_ones = [name("a"), label("x"), label("y")];
        let hold = |conditions: &[SandboxCondition]| {
            all_hold(conditions, |condition| true_ones.contains(condition))
        };
        assert!(hold(&[]));
        assert!(hold(&[name("b"), name("a")]));
        assert!(!hold(&[name("b"), label("x")]));
        assert!(hold(&[label("x"), label("y")]));
        assert!(!hold(&[label("x"), label("z")]));
    }
}
