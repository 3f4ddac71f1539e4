use msb_runtime::network::Rule;

use crate::NetworkRulesError;

/// Returns the rule that is kept with the answer to a question about a destination.
///
/// # Errors
/// If the subject is not one destination, or a name with a port is to be denied: a name is denied with all its ports.
pub fn lasting_rule(subject: &str, is_allowed: bool) -> Result<String, NetworkRulesError> {
    let not_one = || NetworkRulesError::NotOne {
        subject: subject.to_owned(),
    };
    // The subject is of the machine, which a guest may have taken over.
    let rule: Rule = subject.parse().map_err(|_| not_one())?;
    if !rule.can_be_asked_about() || rule.to_string() != subject {
        return Err(not_one());
    }
    if !is_allowed && rule.is_of_names() && rule.is_of_ports() {
        return Err(NetworkRulesError::DeniedPort {
            subject: subject.to_owned(),
        });
    }
    Ok(rule.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_kept_for_one_destination() {
        for (subject, allowed, denied) in [
            ("a.test:443", true, false),
            ("a.test", true, true),
            ("10.0.0.5:5432", true, true),
            ("0.0.0.0/0", false, false),
            ("*.test", false, false),
            ("a.test:1-65535", false, false),
            ("127.0.0.1:631", false, false),
            ("https://a.test", false, false),
            ("A.test", false, false),
            ("", false, false),
        ] {
            assert_eq!(lasting_rule(subject, true).is_ok(), allowed, "{subject}");
            assert_eq!(lasting_rule(subject, false).is_ok(), denied, "{subject}");
        }
    }
}
