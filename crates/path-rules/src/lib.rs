//! Rules for the paths of a directory that a sandbox works on: a state for each path, and its reason.
//!
//! A [`Rule`] gives a [`State`] to the paths that its [`Pattern`] matches. The nearest rule wins: a rule
//! that matches the path itself wins over one that matches its parent, and so on upwards, whichever of
//! them is stricter. Among rules that match the same path, given rules win over defaults, and later
//! rules over earlier ones. A path without a rule is allowed.
//!
//! ```
//! use path_rules::{Rule, Rules, State};
//!
//! let mut rules = Rules::with_defaults();
//! rules.push("private=deny".parse()?)?;
//! rules.push("private/notes=allow".parse()?)?;
//! rules.push(Rule::parse(b"/docs/*.md=read-only")?)?;
//!
//! assert_eq!(rules.decide(b"src/main.rs").state, State::Allow);
//! assert_eq!(rules.decide(b"private/key").state, State::Deny);
//! assert_eq!(rules.decide(b"private/notes/monday").state, State::Allow);
//! let decision = rules.decide(b"deep/.env");
//! assert_eq!(decision.state, State::Hide);
//! assert_eq!(decision.rule.map(ToString::to_string).as_deref(), Some(".env=hide"));
//!
//! // A walk decides for each name from the rules of its directory.
//! let root = rules.root();
//! assert_eq!(root.child(b"docs").decide(b"guide.md").state, State::ReadOnly);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Rules::decide_outgoing`] also keeps changes back that make programs of the host run commands, which
//! [`runs_programs`] knows by their path.
//!
//! Nothing is read or written. Patterns and paths are bytes, and need not be UTF-8. The limits are
//! [`PATTERN_MAX_BYTES`], [`PATTERN_MAX_NAMES`], [`PATTERN_MAX_WILDCARDS`], [`RULES_MAX`] and
//! [`RULES_FILE_MAX_BYTES`]. A match takes at most the product of the lengths of a pattern and a path.

#![forbid(unsafe_code)]

mod decision;
mod excerpt;
mod pattern;
mod readers;
mod rule;
mod rules;
mod rules_file;
mod scope;
mod secrets;
mod state;

pub use decision::Decision;
pub use pattern::{
    InvalidPattern, PATTERN_MAX_BYTES, PATTERN_MAX_NAMES, PATTERN_MAX_WILDCARDS, Pattern,
};
pub use readers::{Reason, folded, is_git, repository, runs_programs};
pub use rule::{InvalidRule, Origin, Rule};
pub use rules::{RULES_MAX, Rules, TooManyRules};
pub use rules_file::{RULES_FILE_MAX_BYTES, RulesFileError};
pub use scope::Scope;
pub use secrets::default_rules;
pub use state::{InvalidState, State};

/// Returns the names of a path, without empty and `.` components.
fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let names = path.split(|&byte| byte == b'/');
    names.filter(|name| !matches!(*name, b"" | b"."))
}
