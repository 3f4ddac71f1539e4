use diagnosis::{Diagnose, Diagnosis, ErrorKind};

use crate::{Decision, Origin, Rule, Scope, State, default_rules, names, runs_programs};

/// The most given rules of a directory. Each is matched against each name of the directory's tree.
pub const RULES_MAX: usize = 1000;

/// The rules of a directory.
///
/// The order of given rules counts: of two that match the same path the later one wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// The default rules, then the given ones. A later rule wins over an earlier one.
    all: Vec<Rule>,
    /// The number of default rules.
    defaults: usize,
    has_defaults: bool,
}

/// A directory has more given rules than [`RULES_MAX`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{RULES_MAX} rules are the limit: write fewer with the help of *, ? and **")]
pub struct TooManyRules;

impl Diagnose for TooManyRules {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(ErrorKind::InvalidArgument).detail("limit", RULES_MAX)
    }
}

impl Rules {
    /// Returns rules that allow everything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the [`default_rules`], without given ones.
    #[must_use]
    pub fn with_defaults() -> Self {
        let all = default_rules();
        Self {
            defaults: all.len(),
            all,
            has_defaults: true,
        }
    }

    /// Adds a given rule. It wins over the others that match the same path.
    ///
    /// # Errors
    /// If there are [`RULES_MAX`] given rules.
    pub fn push(&mut self, rule: Rule) -> Result<(), TooManyRules> {
        if self.given().len() >= RULES_MAX {
            return Err(TooManyRules);
        }
        self.all.push(rule);
        Ok(())
    }

    /// Returns the given rules, in the order in which they were added.
    #[must_use]
    pub fn given(&self) -> &[Rule] {
        &self.all[self.defaults..]
    }

    /// Returns true if the default rules hold.
    #[must_use]
    pub const fn has_defaults(&self) -> bool {
        self.has_defaults
    }

    /// Returns all rules; a later one wins over an earlier one that matches the same path.
    pub(crate) fn all(&self) -> &[Rule] {
        &self.all
    }

    /// Decides about a path, which is relative to the directory, and empty for the directory itself.
    ///
    /// To decide about all paths of a tree, use [`Rules::root`].
    #[must_use]
    pub fn decide(&self, path: &[u8]) -> Decision<'_> {
        decide(self.root(), path)
    }

    /// Decides about a change of a file that is to leave the sandbox. As [`Rules::decide`], but given rules
    /// that restrict match names in any case, because the host's filesystem may have none. And with the
    /// default rules a file that makes [programs of the host run commands](runs_programs) is read-only.
    /// A given rule that matches the file, or the directory that makes it such a file, goes before that;
    /// so does a rule that permits less.
    ///
    /// # Examples
    ///
    /// ```
    /// use path_rules::{Rules, State};
    ///
    /// let mut rules = Rules::with_defaults();
    /// let decision = rules.decide_outgoing(b"app/.vscode/tasks.json");
    /// assert_eq!(decision.state, State::ReadOnly);
    /// assert_eq!(decision.program.map(|program| program.reader()), Some("an editor"));
    ///
    /// rules.push("app/.vscode=allow".parse()?)?;
    /// assert_eq!(rules.decide_outgoing(b"app/.vscode/tasks.json").state, State::Allow);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn decide_outgoing(&self, path: &[u8]) -> Decision<'_> {
        let decision = decide(Scope::root(self, true), path);
        let program = runs_programs(path).filter(|_| self.has_defaults);
        let Some(program) = program else {
            return decision;
        };
        let is_given = decision
            .rule
            .is_some_and(|rule| rule.origin() == Origin::Given);
        let is_nearer =
            decision.depth > program.depth() || decision.depth == program.depth() && is_given;
        match decision.state {
            State::ReadOnly | State::Deny | State::Hide => decision,
            State::Allow | State::WriteAsk | State::Ask if is_nearer => decision,
            State::Allow | State::WriteAsk | State::Ask => Decision {
                state: State::ReadOnly,
                rule: None,
                depth: program.depth(),
                program: Some(program),
            },
        }
    }

    /// Returns the rules at the directory itself, from which a walk of its tree begins.
    #[must_use]
    pub fn root(&self) -> Scope<'_> {
        Scope::root(self, false)
    }
}

/// Decides about a path below a directory.
fn decide<'r>(mut scope: Scope<'r>, path: &[u8]) -> Decision<'r> {
    let mut names = names(path).peekable();
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            return scope.decide(name);
        }
        scope = scope.child(name);
    }
    scope.decision()
}

#[cfg(test)]
mod tests;
