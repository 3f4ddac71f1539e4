use std::str::FromStr;

use regex::{Regex, RegexBuilder};

use crate::Error;

/// Longest expression, in bytes. Names have at most 63.
const PATTERN_MAX_BYTES: usize = 1024;
/// Most memory that a compiled expression takes, in bytes.
const COMPILED_MAX_BYTES: usize = 1 << 20;

/// A regular expression for names of sandboxes, as docker's filter `name` has it: it matches anywhere in the
/// name, with or without the slash that docker's names begin with.
#[derive(Debug, Clone)]
pub struct NamePattern(Regex);

impl NamePattern {
    /// Returns true if the expression matches the name. The time is linear in the name's length.
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name) || self.0.is_match(&format!("/{name}"))
    }
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for NamePattern {}

impl FromStr for NamePattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let invalid = |problem: String| {
            let text = oci_image::excerpt(text);
            Error::invalid(format!("'{text}' is not a regular expression: {problem}"))
        };
        if text.len() > PATTERN_MAX_BYTES {
            return Err(invalid(format!(
                "it has more than {PATTERN_MAX_BYTES} bytes"
            )));
        }
        let built = RegexBuilder::new(text)
            .size_limit(COMPILED_MAX_BYTES)
            .build();
        built.map(Self).map_err(|error| {
            // The last line names the problem; those before it draw the expression.
            let problem = error.to_string();
            let last = problem.lines().last().unwrap_or_default();
            invalid(last.trim_start_matches("error: ").to_owned())
        })
    }
}
