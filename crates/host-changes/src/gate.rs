//! The rules of a staged directory, as they hold for changes that leave the sandbox.

use path_rules::{Decision, Origin, Rules, State};
use tree_diff::Change;

use super::StagedRules;
use super::path::{relative, trimmed};

/// A change that a rule keeps out of the host's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Path of the file, relative to the host's directory.
    pub path: Vec<u8>,
    /// Path of the file in the sandbox, with a leading `/`.
    pub sandbox_path: Vec<u8>,
    /// The state of the path.
    pub state: State,
    /// The rule, as `PATH=STATE`, or the reason why the file is only read.
    pub rule: String,
}

/// The gate that changes pass on their way out.
pub(super) struct Gate<'a> {
    rules: &'a Rules,
    /// The path of the staged directory in the sandbox.
    target: Vec<u8>,
    from: &'a [u8],
    accepted: Vec<Vec<u8>>,
}

impl<'a> Gate<'a> {
    pub(super) fn new(staged: &'a StagedRules, from: &'a [u8], accepted: &[Vec<u8>]) -> Self {
        Self {
            rules: &staged.rules,
            target: trimmed(&staged.target),
            from,
            accepted: accepted.iter().map(|path| trimmed(path)).collect(),
        }
    }

    /// Returns what is told of a change that is kept back; `None` if it may leave the sandbox. A user's
    /// acceptance of the path goes before a default rule.
    pub(super) fn refused(&self, change: &Change) -> Option<Refused> {
        let path = relative(&change.path, self.from).filter(|path| !path.is_empty())?;
        let decision = self.decide(&change.path);
        if is_default(&decision) && self.is_accepted(change) {
            return None;
        }
        match decision.state {
            State::Allow | State::WriteAsk | State::Ask => None,
            State::Hide | State::ReadOnly | State::Deny => Some(Refused {
                path: path.to_vec(),
                sandbox_path: [b"/", change.path.strip_prefix(b"/").unwrap_or(&change.path)]
                    .concat(),
                state: decision.state,
                rule: text(&decision),
            }),
        }
    }

    /// Returns the rule that asks for a yes before a change of this path, which is relative to the directory.
    pub(super) fn question(&self, path: &[u8]) -> Option<String> {
        let path = [self.from, b"/", path].concat();
        let decision = self.decide(&path);
        let asks = matches!(decision.state, State::WriteAsk | State::Ask);
        asks.then(|| text(&decision))
    }

    /// Decides about a path in the sandbox.
    fn decide(&self, path: &[u8]) -> Decision<'_> {
        let path = relative(path, &self.target).unwrap_or_default();
        self.rules.decide_outgoing(path)
    }

    fn is_accepted(&self, change: &Change) -> bool {
        let path = trimmed(&change.path);
        let mut accepted = self.accepted.iter();
        accepted.any(|accepted| relative(&path, accepted).is_some())
    }
}

/// Returns true if no given rule decided.
fn is_default(decision: &Decision<'_>) -> bool {
    let rule = decision.rule;
    rule.is_none_or(|rule| rule.origin() == Origin::Default)
}

fn text(decision: &Decision<'_>) -> String {
    match (decision.rule, decision.program) {
        (Some(rule), _) => rule.to_string(),
        (None, Some(program)) => format!("{} runs commands that it names", program.reader()),
        (None, None) => decision.state.to_string(),
    }
}
