use serde::{Deserialize, Serialize};

use crate::{DefaultPolicy, NetworkRules};

/// The most bytes of rules in a record.
const TEXTS_MAX_BYTES: usize = 2048;

/// A change of the rules of a running network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NetworkRulesChange {
    /// The side that has changed them: `host`. A guest cannot.
    pub by: String,
    /// The default for destinations that no rule applies to, from now on.
    pub mode: DefaultPolicy,
    /// The rules that allow and are new.
    pub allow: Vec<String>,
    /// The rules that deny and are new.
    pub deny: Vec<String>,
    /// The rules of both kinds that no longer hold.
    pub removed: Vec<String>,
    /// The number of further rules that are new or no longer hold. A record is bounded.
    pub more: u64,
}

impl NetworkRulesChange {
    /// Returns the change from some rules to others.
    pub(crate) fn between(before: &NetworkRules, after: &NetworkRules) -> Self {
        let (allow_before, allow_after) = (before.allow_texts(), after.allow_texts());
        let (deny_before, deny_after) = (before.deny_texts(), after.deny_texts());
        let mut room = Room {
            left_bytes: TEXTS_MAX_BYTES,
            more: 0,
        };
        let allow = room.take(&allow_after, &allow_before);
        let deny = room.take(&deny_after, &deny_before);
        let mut removed = room.take(&allow_before, &allow_after);
        removed.extend(room.take(&deny_before, &deny_after));
        Self {
            by: "host".to_owned(),
            mode: after.reach,
            allow,
            deny,
            removed,
            more: room.more,
        }
    }
}

/// The room that is left in a record.
struct Room {
    left_bytes: usize,
    more: u64,
}

impl Room {
    /// Returns the texts that are not among others, as far as there is room.
    fn take(&mut self, texts: &[String], others: &[String]) -> Vec<String> {
        let new = texts.iter().filter(|text| !others.contains(text));
        let mut taken = Vec::new();
        for text in new {
            // Quotes and a comma.
            match self.left_bytes.checked_sub(text.len() + 3) {
                Some(left_bytes) => {
                    self.left_bytes = left_bytes;
                    taken.push(text.clone());
                }
                None => self.more += 1,
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allow: &[String], deny: &[&str]) -> NetworkRules {
        let mut rules = NetworkRules::parse(DefaultPolicy::Listed, allow, &[]).unwrap();
        for rule in deny {
            rules.add_denied(rule).unwrap();
        }
        rules
    }

    #[test]
    fn a_record_has_what_is_new_and_what_holds_no_longer() {
        let before = rules(&["a.test".to_owned()], &["b.test"]);
        let after = rules(&["c.test:443".to_owned()], &["b.test", "10.0.0.0/8"]);
        let change = NetworkRulesChange::between(&before, &after);
        let json = serde_json::to_string(&change).unwrap();
        let expected = concat!(
            r#"{"by":"host","mode":"listed","allow":["c.test:443"],"deny":["10.0.0.0/8"],"#,
            r#""removed":["a.test"],"more":0}"#
        );
        assert_eq!(json, expected);
    }

    #[test]
    fn a_record_is_bounded() {
        let many: Vec<_> = (0..1000).map(|number| format!("a{number}.test")).collect();
        let change = NetworkRulesChange::between(&NetworkRules::default(), &rules(&many, &[]));
        let shown = u64::try_from(change.allow.len()).unwrap();
        assert_eq!(shown + change.more, 1000);
        assert!(serde_json::to_vec(&change).unwrap().len() < 3000);
    }
}
