use super::{DENIED, NEVER};
use crate::Rule;
use crate::rule::Target;

impl Rule {
    /// Returns true if the user can be asked about what the rule applies to, and the rule can be the answer: one address or
    /// name, with one port or all. It is no address that no answer opens: loopback, or a service of clouds.
    pub fn can_be_asked_about(&self) -> bool {
        let is_open = match &self.target {
            Target::Names(_) => true,
            Target::Addresses(range) => {
                let address = range.addr();
                let mut denied = DENIED.iter();
                let denied = denied.find(|(range, _)| range.contains(&address));
                denied.is_none_or(|(_, opens_by_name)| *opens_by_name)
                    && !NEVER.iter().any(|range| range.contains(&address))
            }
        };
        let is_of_one_port = self.ports.is_none_or(|ports| ports.iter().len() == 1);
        self.is_of_one_host() && is_of_one_port && is_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_about_one_destination_that_an_answer_can_open() {
        for (text, expected) in [
            ("a.test", true),
            ("a.test:443", true),
            ("1.1.1.1:53", true),
            ("10.0.0.5:5432", true),
            ("*.a.test", false),
            ("a.test:1-65535", false),
            ("10.0.0.0/8", false),
            ("127.0.0.1:631", false),
            ("169.254.169.254:80", false),
            ("100.100.100.200:80", false),
            ("168.63.129.16:80", false),
            ("0.0.0.0:80", false),
            ("224.0.0.251:5353", false),
        ] {
            let rule: Rule = text.parse().unwrap();
            assert_eq!(rule.can_be_asked_about(), expected, "{text}");
        }
    }
}
