use serde::{Deserialize, Serialize};

use crate::text::beginning;

/// The longest name of the client that answered, and the longest rule, in bytes.
const WORD_MAX_BYTES: usize = 4096;

/// The two answers to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The process may have what it asked for.
    Allow,
    /// The process may not have it.
    Deny,
}

impl Verdict {
    /// Returns the word that the verdict has in text and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The decision, allow or deny.
    pub verdict: Verdict,
    /// The rule that was kept with the answer, `PATH=STATE`; `None` if the answer is for this question alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The client that answered, in its own words, such as `msb asks`.
    pub by: String,
}

impl Answer {
    /// Returns an answer for one question alone.
    #[must_use]
    pub fn once(verdict: Verdict, by: &str) -> Self {
        Self {
            verdict,
            rule: None,
            by: beginning(by, WORD_MAX_BYTES).to_owned(),
        }
    }

    /// Adds the rule that is kept with the answer.
    #[must_use]
    pub fn with_rule(mut self, rule: Option<&str>) -> Self {
        self.rule = rule.map(|rule| beginning(rule, WORD_MAX_BYTES).to_owned());
        self
    }
}

/// The end of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum End {
    /// A client answered.
    Answered(Answer),
    /// No client answered in time.
    TimedOut,
    /// No client was there that listens for questions.
    NoListener,
    /// Too many questions were open.
    TooMany,
    /// The process that asked waits no more.
    Withdrawn,
    /// A client allowed it, and could not deliver what was asked for.
    Undelivered {
        /// The client that answered.
        by: String,
    },
    /// A client allowed it, and said no more: it may have delivered a part of what was asked for.
    Interrupted {
        /// The client that answered.
        by: String,
    },
    /// The sandbox was paused or rolled back, or shut down: no process can wait for an answer then.
    Paused,
    /// A rule denies it, so no client was asked.
    Refused {
        /// The rule, `PATH=STATE`.
        rule: String,
    },
}

impl End {
    /// Returns the end of a question that a rule has decided.
    #[must_use]
    pub fn refused(rule: &str) -> Self {
        let rule = beginning(rule, WORD_MAX_BYTES).to_owned();
        Self::Refused { rule }
    }

    /// Returns true if the process may have what it asked for.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Answered(answer) if answer.verdict == Verdict::Allow)
    }

    /// Returns true if a client allowed it, also if the client did not deliver what was asked for.
    #[must_use]
    pub fn was_allowed(&self) -> bool {
        self.is_allowed() || matches!(self, Self::Undelivered { .. } | Self::Interrupted { .. })
    }

    /// Returns true if a client answered.
    #[must_use]
    pub fn is_of_client(&self) -> bool {
        self.was_allowed() || matches!(self, Self::Answered(_))
    }

    /// Returns the sentence that the process is told, without what a client said.
    #[must_use]
    pub fn for_guest(&self) -> &'static str {
        match self {
            Self::Answered(answer) => match answer.verdict {
                Verdict::Allow => "allowed",
                Verdict::Deny => "denied",
            },
            Self::TimedOut => "denied: the question was not answered in time",
            Self::NoListener => "denied: no client listens for questions",
            Self::TooMany => "denied: too many questions are open",
            Self::Withdrawn => "denied: the question was withdrawn",
            Self::Undelivered { .. } => "denied: the file could not be copied into the sandbox",
            Self::Interrupted { .. } => {
                "denied: the copy of the file into the sandbox was interrupted"
            }
            Self::Paused => "denied: the sandbox is paused, rolled back or shut down",
            Self::Refused { .. } => "denied by a rule",
        }
    }
}
