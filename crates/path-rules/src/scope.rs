use crate::pattern::NameForm;
use crate::{Decision, Origin, Rule, Rules, State, folded};

/// The rules at one path of a tree, and what is left of them to match below it.
///
/// A walk begins with [`Rules::root`], calls [`Scope::child`] for a directory and [`Scope::decide`] for
/// any other file. Each call costs one match for each rule that can still match.
///
/// # Examples
///
/// ```
/// use path_rules::{Rules, State};
///
/// let mut rules = Rules::new();
/// rules.push("target=hide".parse()?)?;
/// let target = rules.root().child(b"target");
/// // The walk can leave the directory out.
/// assert_eq!(target.decision().state, State::Hide);
/// assert!(target.is_uniform());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Scope<'r> {
    rules: &'r Rules,
    decision: Decision<'r>,
    /// Number of names of the path.
    depth: usize,
    open: Vec<Position>,
    is_outgoing: bool,
}

/// An anchored rule whose pattern matches the path so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    /// The index of the rule.
    rule: usize,
    /// The index of the part that the next name has to match.
    part: usize,
}

impl<'r> Scope<'r> {
    /// Returns the rules at the directory itself. On the way out, given rules that restrict compare names
    /// [`folded`].
    pub(crate) fn root(rules: &'r Rules, is_outgoing: bool) -> Self {
        let mut decision = Decision::default();
        let mut open = Vec::new();
        for (index, rule) in rules.all().iter().enumerate() {
            if rule.pattern().is_root() {
                decision = of_rule(rule, 0);
            } else if rule.pattern().is_anchored() {
                open.push(Position {
                    rule: index,
                    part: 0,
                });
            }
        }
        Self {
            rules,
            decision,
            depth: 0,
            open,
            is_outgoing,
        }
    }

    /// Returns the decision about the path itself.
    #[must_use]
    pub const fn decision(&self) -> Decision<'r> {
        self.decision
    }

    /// Returns the rules at a name of this directory.
    #[must_use]
    pub fn child(&self, name: &[u8]) -> Self {
        let mut open = Vec::new();
        let decision = self.step(name, &mut |position| open.push(position), &mut |_| {});
        open.sort_unstable();
        open.dedup();
        Self {
            rules: self.rules,
            decision,
            depth: self.depth + 1,
            open,
            is_outgoing: self.is_outgoing,
        }
    }

    /// Decides about a name of this directory.
    #[must_use]
    pub fn decide(&self, name: &[u8]) -> Decision<'r> {
        self.step(name, &mut |_| {}, &mut |_| {})
    }

    /// Decides about a name of this directory. Calls `matched` with the index in [`Rules::given`] of each
    /// given rule that matches the name, also if another one decides.
    #[must_use]
    pub fn decide_with(&self, name: &[u8], matched: &mut dyn FnMut(usize)) -> Decision<'r> {
        let defaults = self.rules.all().len() - self.rules.given().len();
        self.step(name, &mut |_| {}, &mut |index| {
            index.checked_sub(defaults).map(&mut *matched);
        })
    }

    /// Returns the indices in [`Rules::given`] of the anchored rules that match a part of this path and may
    /// match a path below it.
    pub fn given_below(&self) -> impl Iterator<Item = usize> + '_ {
        let defaults = self.rules.all().len() - self.rules.given().len();
        let begun = self.open.iter().filter(|position| position.part > 0);
        begun.filter_map(move |position| position.rule.checked_sub(defaults))
    }

    /// Returns true if a path below this one may have a state of which the content is shown, by a rule of
    /// its own.
    #[must_use]
    pub fn may_show_below(&self) -> bool {
        let all = self.rules.all();
        let shows = |rule: &Rule| !matches!(rule.state(), State::Hide | State::Ask | State::Deny);
        let mut elsewhere = all.iter().filter(|rule| !rule.pattern().is_anchored());
        let mut open = self.open.iter().filter_map(|at| all.get(at.rule));
        elsewhere.any(shows) || open.any(shows)
    }

    /// Returns true if every path below this one has the state of this one.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        let state = self.decision.state;
        let all = self.rules.all();
        let mut elsewhere = all.iter().filter(|rule| !rule.pattern().is_anchored());
        let mut open = self.open.iter().filter_map(|at| all.get(at.rule));
        elsewhere.all(|rule| rule.state() == state) && open.all(|rule| rule.state() == state)
    }

    /// Matches a name. Calls `keep` with what is left to match below it, and `met` with the index of each rule
    /// that matches the name.
    fn step(
        &self,
        name: &[u8],
        keep: &mut dyn FnMut(Position),
        met: &mut dyn FnMut(usize),
    ) -> Decision<'r> {
        let all = self.rules.all();
        let folded = folded(name);
        let form = |rule: &Rule| match rule.origin() {
            Origin::Given if !self.is_outgoing || rule.state() == State::Allow => {
                NameForm::Exact(name)
            }
            // A filesystem without case takes the name for the one of the rule. A rule that allows does
            // not count for another file.
            Origin::Given | Origin::Default => NameForm::Folded {
                name,
                folded: folded.as_bytes(),
            },
        };
        // The index of the last rule that matches the name.
        let mut matched: Option<usize> = None;
        for &Position { rule: index, part } in &self.open {
            let Some(rule) = all.get(index) else { continue };
            let mut keep = |part| keep(Position { rule: index, part });
            let name = form(rule);
            if rule.pattern().step(part, name, &mut keep) && !rule.excepts(name) {
                met(index);
                matched = matched.max(Some(index));
            }
        }
        for (index, rule) in all.iter().enumerate() {
            let pattern = rule.pattern();
            if pattern.is_anchored() {
                continue;
            }
            let name = form(rule);
            if pattern.is_name(name) && !rule.excepts(name) {
                met(index);
                matched = matched.max(Some(index));
            }
        }
        let rule = matched.and_then(|index| all.get(index));
        rule.map_or(self.decision, |rule| of_rule(rule, self.depth + 1))
    }
}

fn of_rule(rule: &Rule, depth: usize) -> Decision<'_> {
    Decision {
        state: rule.state(),
        rule: Some(rule),
        program: None,
        depth,
    }
}
