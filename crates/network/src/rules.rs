use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use msb_secrets::{HttpsDestination, InvalidDestination};
use serde::{Deserialize, Serialize};
use terminal_text::escaped;

use crate::{DefaultPolicy, InvalidRule, Rule, Settings};

/// The most rules that a running network is given.
pub const RULES_MAX: usize = 1024;
/// The most bytes of the text of all these rules.
const TEXT_MAX_BYTES: usize = 128 << 10;
/// The beginning of a rule for requests.
const HTTPS: &str = "https://";

/// The rules of a sandbox's network: the part of its [`Settings`] that can change while it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkRules {
    /// The default for destinations that no rule applies to.
    pub reach: DefaultPolicy,
    /// Rules that allow destinations.
    pub allow: Vec<Rule>,
    /// Rules that deny destinations. They take precedence over `allow`.
    pub deny: Vec<Rule>,
    /// The HTTPS requests that are allowed.
    pub requests: Vec<HttpsDestination>,
}

/// The texts are not rules of a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRules {
    /// A text is not a rule.
    #[error(transparent)]
    Rule(#[from] InvalidRule),
    /// A text is not a rule for requests.
    #[error(transparent)]
    Request(#[from] InvalidDestination),
    /// A name is denied at one port, and queries for it know no port.
    #[error("--net-deny {rule}: a name is denied with all its ports; leave the port out")]
    Port {
        /// The refused rule.
        rule: String,
    },
    /// Requests are allowed, and the sandbox reaches their hosts without them, too.
    #[error(
        "--net-allow {rule}: a rule for requests takes --network listed; without it, the sandbox reaches the host in \
         other ways"
    )]
    Outbound {
        /// The refused rule, escaped.
        rule: String,
    },
    /// A running network is given too many rules.
    #[error("{count} rules are too many for a running network, the limit is {RULES_MAX}")]
    TooMany {
        /// The number of rules.
        count: usize,
    },
    /// The rules of a running network are too long.
    #[error(
        "the rules have {bytes} bytes, and {TEXT_MAX_BYTES} are the limit of a running network"
    )]
    TooLong {
        /// The length of all texts, in bytes.
        bytes: usize,
    },
}

impl Diagnose for InvalidRules {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Request(source) => source.diagnosis(),
            _ => Diagnosis::new(ErrorKind::InvalidArgument),
        }
    }
}

impl NetworkRules {
    /// Returns the rules of these texts, as `--net-allow` and `--net-deny` of `msb run` take them.
    ///
    /// # Errors
    /// If a text is not a rule, a name is denied at one port, or requests are allowed beside everything else.
    pub fn parse<T: AsRef<str>>(
        reach: DefaultPolicy,
        allow: &[T],
        deny: &[T],
    ) -> Result<Self, InvalidRules> {
        let mut rules = Self {
            reach,
            ..Self::default()
        };
        for text in allow.iter().map(AsRef::as_ref) {
            rules.add_allowed(text)?;
        }
        for text in deny.iter().map(AsRef::as_ref) {
            rules.add_denied(text)?;
        }
        Ok(rules)
    }

    /// Adds a rule that allows, unless there is an equal one.
    ///
    /// # Errors
    /// If the text is not a rule, or one for requests where everything is reached.
    pub fn add_allowed(&mut self, text: &str) -> Result<(), InvalidRules> {
        if text.starts_with(HTTPS) {
            if self.reach == DefaultPolicy::Outbound {
                let rule = escaped(text).into_owned();
                return Err(InvalidRules::Outbound { rule });
            }
            add(&mut self.requests, text.parse()?);
        } else {
            add(&mut self.allow, text.parse()?);
        }
        Ok(())
    }

    /// Adds a rule that denies, unless there is an equal one.
    ///
    /// # Errors
    /// If the text is not a rule, or denies a name at one port.
    pub fn add_denied(&mut self, text: &str) -> Result<(), InvalidRules> {
        let rule: Rule = text.parse()?;
        if rule.is_of_names() && rule.is_of_ports() {
            let rule = rule.to_string();
            return Err(InvalidRules::Port { rule });
        }
        add(&mut self.deny, rule);
        Ok(())
    }

    /// Removes a rule, whether it allows or denies. Returns false if there is none.
    ///
    /// # Errors
    /// If the text is not a rule.
    pub fn remove(&mut self, text: &str) -> Result<bool, InvalidRules> {
        let before = self.count();
        if text.starts_with(HTTPS) {
            let request: HttpsDestination = text.parse()?;
            self.requests.retain(|known| *known != request);
        } else {
            let rule: Rule = text.parse()?;
            self.allow.retain(|known| *known != rule);
            self.deny.retain(|known| *known != rule);
        }
        Ok(self.count() < before)
    }

    /// Returns the texts of the rules that allow, those for requests last.
    pub fn allow_texts(&self) -> Vec<String> {
        let requests = self.requests.iter().map(|to| format!("{HTTPS}{to}"));
        texts(&self.allow).chain(requests).collect()
    }

    /// Returns the texts of the rules that deny.
    pub fn deny_texts(&self) -> Vec<String> {
        texts(&self.deny).collect()
    }

    /// Checks that a running network can be given the rules.
    ///
    /// # Errors
    /// If they are too many or too long.
    pub fn check_size(&self) -> Result<(), InvalidRules> {
        let count = self.count();
        if count > RULES_MAX {
            return Err(InvalidRules::TooMany { count });
        }
        let all = self.allow_texts().into_iter().chain(self.deny_texts());
        let bytes = all.map(|text| text.len()).sum();
        if bytes > TEXT_MAX_BYTES {
            return Err(InvalidRules::TooLong { bytes });
        }
        Ok(())
    }

    fn count(&self) -> usize {
        self.allow.len() + self.deny.len() + self.requests.len()
    }
}

impl Settings {
    /// Returns the rules that hold now.
    pub fn rules(&self) -> NetworkRules {
        NetworkRules {
            reach: self.reach,
            allow: self.allow.clone(),
            deny: self.deny.clone(),
            requests: self.requests.clone(),
        }
    }

    /// Replaces the rules that hold.
    pub fn set_rules(&mut self, rules: NetworkRules) {
        let NetworkRules {
            reach,
            allow,
            deny,
            requests,
        } = rules;
        self.reach = reach;
        self.allow = allow;
        self.deny = deny;
        self.requests = requests;
    }
}

fn add<T: PartialEq>(all: &mut Vec<T>, new: T) {
    if !all.contains(&new) {
        all.push(new);
    }
}

fn texts(rules: &[Rule]) -> impl Iterator<Item = String> + '_ {
    rules.iter().map(ToString::to_string)
}

#[cfg(test)]
mod tests;
