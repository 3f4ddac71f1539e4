//! Options that change nothing in msb and are accepted for compatibility with Docker.

use crate::options::{self, Effect};

/// An option that changes nothing.
#[derive(Debug, Clone, Copy)]
pub struct NeedlessOption {
    /// The words of the commands that accept the option.
    pub commands: &'static [&'static str],
    /// The long name, without its dashes.
    pub name: &'static str,
    /// The short name, without its dash. `None` if the option has no short name.
    pub short: Option<char>,
    /// True if the option has a value.
    pub takes_value: bool,
    /// The reason why it changes nothing, in one line.
    pub why: &'static str,
}

impl NeedlessOption {
    /// Returns the notice for the option, in one line.
    #[must_use]
    pub fn note(&self) -> String {
        format!("--{} changes nothing: {}", self.name, self.why)
    }
}

/// Iterates over the needless options, once for each long name.
pub fn all() -> impl Iterator<Item = NeedlessOption> {
    options::ALL.iter().flat_map(|group| {
        let short = |name: &&str| match name.as_bytes() {
            [b'-', letter] => Some(char::from(*letter)),
            _ => None,
        };
        let short = group.names.iter().find_map(short);
        let names = group.names.iter();
        let long = names.filter_map(|name| name.strip_prefix("--"));
        long.filter_map(move |name| match group.effect {
            Effect::Refused(_) => None,
            Effect::Needless { takes_value, why } => Some(NeedlessOption {
                commands: group.commands,
                name,
                short,
                takes_value,
                why,
            }),
        })
    })
}
