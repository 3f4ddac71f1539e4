use crate::{Reason, Rule, State};

/// The decision about a path, with its reason. Without a rule and a program the path is allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decision<'r> {
    /// The state of the path.
    pub state: State,
    /// The rule that decided; `None` if no rule matches, or if `program` decided.
    pub rule: Option<&'r Rule>,
    /// The reason why the path is only read; `None` if it was not asked for, or a rule decided.
    pub program: Option<Reason>,
    /// Number of names up to the path that the rule or the reason is about; 0 for the directory itself.
    pub depth: usize,
}
