use std::fmt;
use std::str::FromStr;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use serde::{Deserialize, Serialize};

use crate::excerpt::excerpt;
use crate::pattern::NameForm;
use crate::{InvalidPattern, InvalidState, Pattern, State};

/// The source of a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Origin {
    /// A user gave the rule.
    #[default]
    Given,
    /// The rule is one of [`default_rules`](crate::default_rules).
    Default,
}

/// A state for the paths that a pattern matches, and for everything below them.
///
/// Its text is `PATH=STATE`; the last `=` separates the two. In JSON it has the keys `path` and `state`,
/// and a rule that is read is a given one.
///
/// # Examples
///
/// ```
/// use path_rules::{Rule, State};
///
/// let rule: Rule = "a=b/*.key=hide".parse()?;
/// assert_eq!(rule.pattern().as_bytes(), b"a=b/*.key");
/// assert_eq!(rule.state(), State::Hide);
/// # Ok::<(), path_rules::InvalidRule>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    #[serde(rename = "path")]
    pattern: Pattern,
    state: State,
    #[serde(skip)]
    origin: Origin,
    /// Names that the pattern matches and that the rule is not for.
    #[serde(skip)]
    except: Vec<Pattern>,
    #[serde(skip)]
    reason: Option<&'static str>,
}

/// The text is not a [`Rule`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
    /// The text has no `=`.
    #[error("'{text}' is not a rule: write PATH=STATE, such as .env=hide")]
    Form {
        /// The beginning of the text, escaped.
        text: String,
    },
    /// The path cannot be used.
    #[error(transparent)]
    Pattern(#[from] InvalidPattern),
    /// The state does not exist.
    #[error(transparent)]
    State(#[from] InvalidState),
}

impl Diagnose for InvalidRule {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Form { text } => Diagnosis::new(ErrorKind::InvalidArgument).detail("value", text),
            Self::Pattern(source) => source.diagnosis(),
            Self::State(source) => source.diagnosis(),
        }
    }
}

impl Rule {
    /// Returns a given rule.
    #[must_use]
    pub const fn new(pattern: Pattern, state: State) -> Self {
        Self {
            pattern,
            state,
            origin: Origin::Given,
            except: Vec::new(),
            reason: None,
        }
    }

    /// Parses a given rule, `PATH=STATE`.
    ///
    /// # Errors
    /// If the text has no `=`, the path is not a [`Pattern`], or the state does not exist.
    pub fn parse(text: &[u8]) -> Result<Self, InvalidRule> {
        let separator = text.iter().rposition(|&byte| byte == b'=');
        let Some((path, [_, state @ ..])) = separator.and_then(|at| text.split_at_checked(at))
        else {
            let text = excerpt(text);
            return Err(InvalidRule::Form { text });
        };
        Self::from_parts(path, state)
    }

    /// Parses the two sides of a rule.
    pub(crate) fn from_parts(path: &[u8], state: &[u8]) -> Result<Self, InvalidRule> {
        // A path is only worth a look if a state follows it.
        let state = String::from_utf8_lossy(state).parse()?;
        Ok(Self::new(Pattern::parse(path)?, state))
    }

    /// Returns a default rule.
    pub(crate) const fn new_default(
        pattern: Pattern,
        except: Vec<Pattern>,
        state: State,
        reason: &'static str,
    ) -> Self {
        Self {
            pattern,
            state,
            origin: Origin::Default,
            except,
            reason: Some(reason),
        }
    }

    /// Returns the pattern of the paths.
    #[must_use]
    pub const fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Returns the state of the paths.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Returns the source of the rule.
    #[must_use]
    pub const fn origin(&self) -> Origin {
        self.origin
    }

    /// Returns the content of the files that a default rule is for, such as `a private key of SSH`.
    /// `None` for a given rule.
    #[must_use]
    pub const fn reason(&self) -> Option<&'static str> {
        self.reason
    }

    /// Returns true if the rule is not for a name that its pattern matches.
    pub(crate) fn excepts(&self, name: NameForm<'_>) -> bool {
        self.except.iter().any(|except| except.is_name(name))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.pattern, self.state)
    }
}

impl FromStr for Rule {
    type Err = InvalidRule;

    fn from_str(text: &str) -> Result<Self, InvalidRule> {
        Self::parse(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sign_separates_path_and_state() {
        let rule = Rule::parse(b"caf\xe9/a=b=write-ask").expect("a rule");
        assert_eq!(rule.pattern().as_bytes(), b"caf\xe9/a=b");
        assert_eq!(rule.state(), State::WriteAsk);
        assert_eq!((rule.origin(), rule.reason()), (Origin::Given, None));
        assert_eq!(rule.to_string(), r"caf\xe9/a=b=write-ask");
    }

    #[test]
    fn a_text_that_is_no_rule_is_refused_with_the_form() {
        for (text, part) in [
            ("", "write PATH=STATE"),
            (".env", "'.env' is not a rule: write PATH=STATE"),
            (".env=", "'' is not a state"),
            (".env=hidden", "'hidden' is not a state"),
            ("=hide", "a path is empty"),
            ("../x=hide", "'..'"),
        ] {
            let error = text.parse::<Rule>().expect_err(text);
            assert!(error.to_string().contains(part), "{error}");
            assert_eq!(error.diagnosis().kind(), ErrorKind::InvalidArgument);
        }
        assert!(Rule::parse(b"a=\xff").is_err());
    }

    #[test]
    fn json_has_path_and_state() {
        let rule: Rule = ".env=hide".parse().expect("a rule");
        let json = serde_json::to_string(&rule).expect("written");
        assert_eq!(json, r#"{"path":".env","state":"hide"}"#);
        assert_eq!(serde_json::from_str::<Rule>(&json).expect("read"), rule);
    }
}
