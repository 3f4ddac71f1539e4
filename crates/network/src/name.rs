use std::fmt;

/// A domain name in the form that rules compare: its labels in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DomainName {
    labels: Vec<String>,
}

/// A domain name, or every name below one: `*.example.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamePattern {
    name: DomainName,
    /// True if the pattern matches the names below this one, and not the name itself.
    is_below: bool,
}

/// The longest name in text, and the longest label (RFC 1035, section 2.3.4).
const NAME_MAX_BYTES: usize = 253;
const LABEL_MAX_BYTES: usize = 63;

impl DomainName {
    /// Returns the name of these labels. `None` if a label holds a dot, which would read as two
    /// labels in text, or a byte that is not printable ASCII.
    pub(crate) fn new<'a>(labels: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let label = |label: &[u8]| {
            let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'.';
            let text = label.iter().all(is_plain).then_some(label)?;
            Some(String::from_utf8_lossy(text).to_ascii_lowercase())
        };
        let labels = labels.into_iter().map(label).collect::<Option<_>>()?;
        Some(Self { labels })
    }

    /// Parses a name, with or without a trailing dot.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('.').unwrap_or(text);
        Self::new(text.split('.').map(str::as_bytes))
    }

    /// Returns the name of the host that the records of a service belong to: `a.test` of
    /// `_8443._https.a.test` (RFC 9460, section 2.3).
    pub(crate) fn of_host(&self) -> Self {
        let is_of_service = |label: &&String| label.starts_with('_');
        let labels = self.labels.iter().skip_while(is_of_service);
        Self {
            labels: labels.cloned().collect(),
        }
    }

    /// Returns true if the name is one that a rule can have: of letters, digits, `-` and `_`, and no mistyped address.
    /// A guest may ask for others, which are not to be pasted into a shell.
    pub(crate) fn is_of_hosts(&self) -> bool {
        let is_label = |label: &String| {
            (1..=LABEL_MAX_BYTES).contains(&label.len())
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        // A top-level domain of digits alone would be a mistyped address.
        let is_number = |label: &String| label.bytes().all(|byte| byte.is_ascii_digit());
        self.to_string().len() <= NAME_MAX_BYTES
            && self.labels.iter().all(is_label)
            && !self.labels.last().is_none_or(is_number)
    }
}

impl NamePattern {
    /// Parses a pattern. `None` if `text` is not a valid name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (below, is_below) = match text.strip_prefix("*.") {
            Some(below) => (below, true),
            None => (text, false),
        };
        let name = DomainName::parse(below)?;
        name.is_of_hosts().then_some(Self { name, is_below })
    }

    /// Returns true if the pattern matches the names below one.
    pub(crate) const fn is_below(&self) -> bool {
        self.is_below
    }

    /// Returns true if the pattern matches `name`.
    pub(crate) fn matches(&self, name: &DomainName) -> bool {
        if !self.is_below {
            return *name == self.name;
        }
        name.labels.len() > self.name.labels.len() && name.labels.ends_with(&self.name.labels)
    }
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.labels.join("."))
    }
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
        let name = |text: &str| DomainName::parse(text).unwrap();
        let exact = NamePattern::parse("Example.COM.").unwrap();
        assert_eq!(exact.to_string(), "example.com");
        assert!(exact.matches(&name("example.com")));
        assert!(
            !exact.matches(&name("www.example.com")) && !exact.matches(&name("badexample.com"))
        );
        let below = NamePattern::parse("*.example.com").unwrap();
        assert!(below.matches(&name("a.example.com")) && below.matches(&name("A.b.example.com.")));
        for other in ["example.com", "badexample.com", "example.com.evil.org"] {
            assert!(!below.matches(&name(other)), "{other}");
        }
    }

    #[test]
    fn a_service_has_the_name_of_its_host() {
        for (service, host) in [
            ("_8443._https.a.test", "a.test"),
            ("a._b.test", "a._b.test"),
            ("a.test", "a.test"),
        ] {
            let name = DomainName::parse(service).unwrap();
            assert_eq!(name.of_host().to_string(), host);
        }
    }

    #[test]
    fn a_label_that_holds_a_dot_is_no_two_labels() {
        let of = |labels: &[&'static [u8]]| DomainName::new(labels.iter().copied());
        for labels in [
            &[&b"x.allowed"[..], b"test"][..],
            &[b"x.allowed.test"],
            &[b"x", b"a\0", b"test"],
            &[b"x", b"a\x7f", b"test"],
            &[b"x", b"\xc3\xa4", b"test"],
        ] {
            assert_eq!(of(labels), None, "{labels:?}");
        }
        let pattern = NamePattern::parse("*.allowed.test").unwrap();
        assert!(pattern.matches(&of(&[b"X", b"Allowed", b"test"]).unwrap()));
        assert!(!pattern.matches(&of(&[b"x\\", b"notallowed", b"test"]).unwrap()));
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
