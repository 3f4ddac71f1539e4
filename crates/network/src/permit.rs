use std::fmt;

use crate::DefaultPolicy;
use crate::Rule;
use crate::decision::Reason;

/// The reason for which a flow was allowed. It outlives the rules of that moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Permit {
    /// A rule of the user.
    Rule(Rule),
    /// The default.
    Default,
    /// An answer of the user.
    Asked,
}

impl From<Reason<'_>> for Permit {
    fn from(reason: Reason<'_>) -> Self {
        match reason {
            Reason::Rule(rule) => Self::Rule(rule.clone()),
            Reason::Asked => Self::Asked,
            // Nothing else allows.
            _ => Self::Default,
        }
    }
}

/// Writes the rule of the record.
impl fmt::Display for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => Reason::Rule(rule).fmt(f),
            Self::Default => Reason::Default(DefaultPolicy::Outbound).fmt(f),
            Self::Asked => Reason::Asked.fmt(f),
        }
    }
}
