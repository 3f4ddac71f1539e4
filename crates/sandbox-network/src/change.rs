use msb_runtime::network::{DefaultPolicy, InvalidRules, NetworkRules, Settings};
use msb_secrets::HostPattern;

use crate::NetworkRulesError;

/// A change of the rules of a sandbox's network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkChange {
    /// Adds rules that allow. Equal ones that deny are removed.
    Allow(Vec<String>),
    /// Adds rules that deny. Equal ones that allow are removed.
    Deny(Vec<String>),
    /// Removes rules of both kinds.
    Remove(Vec<String>),
    /// Replaces all rules at once.
    Set(NetworkRules),
}

impl NetworkChange {
    /// Returns the rules with the change. `sandbox` is a name for errors.
    pub(crate) fn apply(
        self,
        sandbox: &str,
        settings: &Settings,
    ) -> Result<NetworkRules, NetworkRulesError> {
        let mut rules = settings.rules();
        match self {
            Self::Allow(texts) => {
                for text in texts {
                    rules.add_allowed(&text)?;
                    let denied = NetworkRules::parse(DefaultPolicy::Listed, &[&text], &[])?;
                    rules.deny.retain(|rule| !denied.allow.contains(rule));
                }
            }
            Self::Deny(texts) => {
                for text in texts {
                    rules.add_denied(&text)?;
                    let denied = &rules.deny;
                    rules.allow.retain(|rule| !denied.contains(rule));
                }
            }
            Self::Remove(texts) => {
                for text in texts {
                    if !rules.remove(&text)? {
                        return Err(NetworkRulesError::Missing {
                            sandbox: sandbox.to_owned(),
                            rule: text,
                        });
                    }
                }
            }
            Self::Set(all) => rules = all,
        }
        rules.check_size()?;
        check_requests(sandbox, settings, &rules)?;
        Ok(rules)
    }
}

/// Checks that the TLS of all hosts of requests is ended: the sandbox's certificate authority is valid for some hosts.
fn check_requests(
    sandbox: &str,
    settings: &Settings,
    rules: &NetworkRules,
) -> Result<(), NetworkRulesError> {
    if let (DefaultPolicy::Outbound, Some(request)) = (rules.reach, rules.requests.first()) {
        let rule = format!("https://{request}");
        return Err(InvalidRules::Outbound { rule }.into());
    }
    let of_secrets = settings.secrets.iter().flat_map(|secret| &secret.to);
    let ended: Vec<_> = of_secrets.chain(&settings.requests).collect();
    let is_ended = |host: &HostPattern| {
        let name = host.to_string();
        ended
            .iter()
            .any(|known| known.host == *host || known.host.matches(&name))
    };
    match rules.requests.iter().find(|to| !is_ended(&to.host)) {
        None => Ok(()),
        Some(request) => Err(NetworkRulesError::NotEnded {
            sandbox: sandbox.to_owned(),
            host: request.host.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        let settings = r#"{"reach":"listed","allow":["a.test:443"],"deny":["b.test"],
            "requests":["api.test/v1/*:GET"]}"#;
        serde_json::from_str(settings).expect("settings")
    }

    fn applied(change: NetworkChange) -> Result<NetworkRules, NetworkRulesError> {
        change.apply("box", &settings())
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn a_rule_takes_the_place_of_its_opposite() {
        let rules = applied(NetworkChange::Allow(texts(&["B.test", "c.test"]))).expect("allowed");
        let allow = [
            "a.test:443",
            "b.test",
            "c.test",
            "https://api.test/v1/*:GET",
        ];
        assert_eq!(rules.allow_texts(), allow);
        assert!(rules.deny.is_empty());
        let rules = applied(NetworkChange::Allow(texts(&["c.test"]))).expect("allowed");
        let mut kept = settings();
        kept.set_rules(rules);
        let change = NetworkChange::Deny(texts(&["c.test"]));
        let rules = change.apply("box", &kept).expect("denied");
        assert_eq!(rules.deny_texts(), ["b.test", "c.test"]);
        assert_eq!(rules.allow.len(), 1);
    }

    #[test]
    fn only_rules_that_are_there_are_removed_and_nothing_is_half_done() {
        let rules = applied(NetworkChange::Remove(texts(&["a.test:443", "b.test"])));
        let rules = rules.expect("removed");
        assert!(rules.allow.is_empty() && rules.deny.is_empty());
        let missing = applied(NetworkChange::Remove(texts(&["a.test:443", "a.test"])));
        let missing = missing.expect_err("there is none").to_string();
        assert_eq!(missing, "sandbox box has no rule a.test");
    }

    #[test]
    fn requests_change_at_hosts_whose_tls_is_ended() {
        let allow = |rule: &str| applied(NetworkChange::Allow(texts(&[rule])));
        allow("https://api.test/v2/*:POST").expect("its host is known");
        let refused = allow("https://www.test/").expect_err("it is not");
        assert!(
            matches!(&refused, NetworkRulesError::NotEnded { host, .. } if host == "www.test"),
            "{refused}"
        );
        let outbound = NetworkRules {
            requests: settings().requests,
            ..NetworkRules::default()
        };
        applied(NetworkChange::Set(outbound)).expect_err("everything else is reached, too");
        let replaced = applied(NetworkChange::Set(NetworkRules::default())).expect("replaced");
        assert_eq!(replaced, NetworkRules::default());
    }
}
