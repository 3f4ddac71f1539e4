//! Patterns for the names of images.

use std::convert::Infallible;
use std::str::FromStr;

/// A pattern `NAME[:TAG]`, where `*` stands for any characters except `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImagePattern(String);

impl FromStr for ImagePattern {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl ImagePattern {
    /// Returns true if an image with this name, as Docker shortens it, matches. An image without a
    /// name never matches.
    pub fn matches(&self, name: Option<&str>) -> bool {
        let Some(name) = name else { return false };
        let (wanted, wanted_tag) = parts(&self.0);
        let (repository, tag) = parts(name);
        matches_path(wanted, repository)
            && wanted_tag.is_none_or(|wanted| matches_part(wanted, tag.unwrap_or_default()))
    }
}

/// Returns a name's repository, and its tag if it has one and no digest.
pub fn parts(name: &str) -> (&str, Option<&str>) {
    let (name, digest) = match name.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (name, None),
    };
    match name.rsplit_once(':') {
        // A colon before a slash is a registry's port.
        Some((repository, tag)) if !tag.contains('/') => {
            (repository, digest.is_none().then_some(tag))
        }
        _ => (name, None),
    }
}

fn matches_path(pattern: &str, path: &str) -> bool {
    pattern.split('/').count() == path.split('/').count()
        && (pattern.split('/').zip(path.split('/')))
            .all(|(pattern, part)| matches_part(pattern, part))
}

/// Matches each star with as few characters as possible. The text behind the last star has to be at
/// the end.
fn matches_part(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let beginning = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(beginning) else {
        return false;
    };
    let Some(end) = pieces.next_back() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.split_once(piece) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        let Ok(pattern) = pattern.parse::<ImagePattern>();
        pattern.matches(Some(name))
    }

    #[test]
    fn names_are_matched_as_docker_matches_them() {
        for (pattern, name) in [
            ("debian", "debian:12"),
            ("debian:12", "debian:12"),
            ("deb*", "debian:12"),
            ("*:1*", "debian:12"),
            ("*/app", "owner/app:dev"),
            ("ghcr.io/*/a*p:v*.0", "ghcr.io/owner/app:v1.2.0"),
            ("localhost:5000/app", "localhost:5000/app:dev"),
            ("app", "app@sha256:00"),
        ] {
            assert!(matches(pattern, name), "{pattern} and {name}");
        }
        for (pattern, name) in [
            ("debian", "debian-slim:12"),
            ("debian:12", "debian:13"),
            ("*", "owner/app:dev"),
            ("app", "owner/app:dev"),
            ("a*pp*b", "appb2:x"),
            ("aa*a", "aa:x"),
            ("app:dev", "app@sha256:00"),
            ("", "debian:12"),
        ] {
            assert!(!matches(pattern, name), "{pattern} and {name}");
        }
        let Ok(pattern) = "*".parse::<ImagePattern>();
        assert!(!pattern.matches(None));
    }
}
