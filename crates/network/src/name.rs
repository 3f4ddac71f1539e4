use std::fmt;

/// A domain name, or every name below one: `*.example.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamePattern {
    /// Lower case, without a dot at its end.
    name: String,
    /// Whether the names below it are meant, and not itself.
    is_below: bool,
}

/// The longest name in text (RFC 1035, section 2.3.4), and the longest label.
const NAME_MAX_BYTES: usize = 253;
const LABEL_MAX_BYTES: usize = 63;

impl NamePattern {
    /// The pattern that `text` writes; `None` where it is no name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (below, is_below) = match text.strip_prefix("*.") {
            Some(below) => (below, true),
            None => (text, false),
        };
        let name = canonical(below);
        let is_label = |label: &str| {
            (1..=LABEL_MAX_BYTES).contains(&label.len())
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        // A top-level domain of digits alone would be a mistyped address.
        let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
        let is_name = name.len() <= NAME_MAX_BYTES
            && name.split('.').all(is_label)
            && !name.rsplit('.').next().is_none_or(is_number);
        is_name.then_some(Self { name, is_below })
    }

    /// Whether it means `name`, which is in canonical form.
    pub(crate) fn matches(&self, name: &str) -> bool {
        if !self.is_below {
            return name == self.name;
        }
        name.strip_suffix(self.name.as_str())
            .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    }
}

/// A name as rules compare it.
pub(crate) fn canonical(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = if self.is_below { "*." } else { "" };
        write!(f, "{below}{}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_a_name_or_those_below_it() {
        let exact = NamePattern::parse("Example.COM.").unwrap();
        assert_eq!(exact.to_string(), "example.com");
        assert!(exact.matches("example.com"));
        assert!(!exact.matches("www.example.com") && !exact.matches("badexample.com"));
        let below = NamePattern::parse("*.example.com").unwrap();
        assert!(below.matches("a.example.com") && below.matches("a.b.example.com"));
        for name in [
            "example.com",
            ".example.com",
            "badexample.com",
            "example.com.evil.org",
        ] {
            assert!(!below.matches(name), "{name}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let long = "a".repeat(64);
        for text in [
            "", ".", "*", "*.", "a..b", "a b", "1.2.3", "*.*.a", "a.*", "ä.de", &long,
        ] {
            assert_eq!(NamePattern::parse(text), None, "{text}");
        }
    }
}
