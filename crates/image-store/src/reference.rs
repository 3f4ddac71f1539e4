use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::digest::{Digest, InvalidDigest};
use crate::text::excerpt;

const DOCKER_HUB: &str = "docker.io";
const DOCKER_HUB_REGISTRY: &str = "registry-1.docker.io";
const OFFICIAL_NAMESPACE: &str = "library/";
const DEFAULT_TAG: &str = "latest";
/// As the distribution specification has it, for registry and repository together.
const NAME_MAX_BYTES: usize = 255;
const TAG_MAX_BYTES: usize = 128;

/// An image's name, as docker reads it: `[REGISTRY/]REPOSITORY[:TAG][@DIGEST]`.
///
/// Without a registry it is Docker Hub's, without a tag and a digest it is `latest`. With both, the
/// digest says which image is meant.
///
/// ```
/// use image_store::Reference;
///
/// let reference: Reference = "debian:12".parse()?;
/// assert_eq!(reference.to_string(), "docker.io/library/debian:12");
/// assert_eq!(reference.familiar(), "debian:12");
/// # Ok::<(), image_store::InvalidReference>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    registry: String,
    repository: String,
    version: Version,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Version {
    Tag(String),
    Digest(Digest),
}

/// Why a text is not an image's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReference {
    /// Repository names are lower case.
    #[error("invalid image name '{text}': a repository's name must be lower case")]
    UpperCase {
        /// What was given, cut and escaped.
        text: String,
    },
    /// The part before the first slash is no host.
    #[error("invalid image name '{text}': '{registry}' is not a registry's host and port")]
    Registry {
        /// What was given, cut and escaped.
        text: String,
        /// The part that should be a host.
        registry: String,
    },
    /// The repository does not follow the grammar.
    #[error("invalid image name '{text}': '{repository}' is not a repository's name")]
    Repository {
        /// What was given, cut and escaped.
        text: String,
        /// The part that should be a repository.
        repository: String,
    },
    /// The tag does not follow the grammar.
    #[error("invalid image name '{text}': '{tag}' is not a tag")]
    Tag {
        /// What was given, cut and escaped.
        text: String,
        /// The part that should be a tag.
        tag: String,
    },
    /// More than 255 bytes of name.
    #[error("invalid image name '{text}': it has {bytes} bytes, the limit is {NAME_MAX_BYTES}")]
    TooLong {
        /// What was given, cut and escaped.
        text: String,
        /// How long it is.
        bytes: usize,
    },
    /// What follows the `@` is no digest.
    #[error("invalid image name '{text}'")]
    Digest {
        /// What was given, cut and escaped.
        text: String,
        /// What is wrong with it.
        #[source]
        source: InvalidDigest,
    },
}

impl Reference {
    /// The registry that the name says, `docker.io` when it says none.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The repository on that registry, `library/` included.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag; `None` when a digest says which image is meant.
    pub fn tag(&self) -> Option<&str> {
        match &self.version {
            Version::Tag(tag) => Some(tag),
            Version::Digest(_) => None,
        }
    }

    /// The digest that says which image is meant.
    pub const fn digest(&self) -> Option<Digest> {
        match self.version {
            Version::Digest(digest) => Some(digest),
            Version::Tag(_) => None,
        }
    }

    /// The name without what docker leaves out: `debian:12`, not `docker.io/library/debian:12`.
    pub fn familiar(&self) -> String {
        let full = self.to_string();
        let Some(rest) = full.strip_prefix("docker.io/") else {
            return full;
        };
        match rest.strip_prefix(OFFICIAL_NAMESPACE) {
            Some(short) if !short.contains('/') => short.to_owned(),
            _ => rest.to_owned(),
        }
    }

    /// The host, with its port, that serves the registry.
    pub(crate) fn registry_host(&self) -> &str {
        if self.registry == DOCKER_HUB {
            DOCKER_HUB_REGISTRY
        } else {
            &self.registry
        }
    }

    /// Tag or digest, as a registry's manifest address ends.
    pub(crate) fn version(&self) -> String {
        match &self.version {
            Version::Tag(tag) => tag.clone(),
            Version::Digest(digest) => digest.to_string(),
        }
    }

    /// Whether the registry is this host's own loopback interface.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = host_without_port(&self.registry);
        host.eq_ignore_ascii_case("localhost")
            || host
                .parse::<Ipv4Addr>()
                .is_ok_and(|address| address.is_loopback())
            || host
                .parse::<Ipv6Addr>()
                .is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.registry, self.repository)?;
        match &self.version {
            Version::Tag(tag) => write!(formatter, ":{tag}"),
            Version::Digest(digest) => write!(formatter, "@{digest}"),
        }
    }
}

impl FromStr for Reference {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (text, None),
        };
        let (name, tag) = match name.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
            _ => (name, None),
        };
        let (registry, repository) = split_registry(name);
        check_name(text, registry, &repository)?;
        let tag = tag.unwrap_or(DEFAULT_TAG);
        if !is_tag(tag) {
            return Err(InvalidReference::Tag {
                text: excerpt(text),
                tag: excerpt(tag),
            });
        }
        let version = match digest {
            Some(digest) => {
                Version::Digest(digest.parse().map_err(|source| InvalidReference::Digest {
                    text: excerpt(text),
                    source,
                })?)
            }
            None => Version::Tag(tag.to_owned()),
        };
        Ok(Self {
            registry: registry.to_owned(),
            repository,
            version,
        })
    }
}

/// The first component is a registry when it looks like a host: a dot, a port, or `localhost`.
fn split_registry(name: &str) -> (&str, String) {
    let host_like = |first: &str| {
        first.contains(['.', ':']) || first == "localhost" || first.contains(char::is_uppercase)
    };
    let (registry, repository) = match name.split_once('/') {
        Some((first, rest)) if host_like(first) => (first, rest),
        _ => (DOCKER_HUB, name),
    };
    let registry = if registry == "index.docker.io" {
        DOCKER_HUB
    } else {
        registry
    };
    if registry == DOCKER_HUB && !repository.contains('/') {
        return (registry, format!("{OFFICIAL_NAMESPACE}{repository}"));
    }
    (registry, repository.to_owned())
}

fn check_name(text: &str, registry: &str, repository: &str) -> Result<(), InvalidReference> {
    let bytes = registry.len() + 1 + repository.len();
    if bytes > NAME_MAX_BYTES {
        return Err(InvalidReference::TooLong {
            text: excerpt(text),
            bytes,
        });
    }
    if !is_host(registry) {
        let registry = excerpt(registry);
        return Err(InvalidReference::Registry {
            text: excerpt(text),
            registry,
        });
    }
    if repository.contains(|character: char| character.is_ascii_uppercase()) {
        return Err(InvalidReference::UpperCase {
            text: excerpt(text),
        });
    }
    if !repository.split('/').all(is_path_component) {
        let repository = excerpt(repository);
        return Err(InvalidReference::Repository {
            text: excerpt(text),
            repository,
        });
    }
    Ok(())
}

/// Lower-case letters and digits, in runs joined by one dot, one or two underscores, or hyphens.
fn is_path_component(component: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let separator = |run: &str| matches!(run, "." | "_" | "__") || run.bytes().all(|b| b == b'-');
    let ends = [component.bytes().next(), component.bytes().last()];
    ends.into_iter().all(|end| end.is_some_and(word))
        && component
            .split(|character: char| u8::try_from(character).is_ok_and(word))
            .all(separator)
}

fn is_tag(tag: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= TAG_MAX_BYTES
        && tag.bytes().next().is_some_and(word)
        && tag
            .bytes()
            .all(|byte| word(byte) || byte == b'.' || byte == b'-')
}

fn host_without_port(registry: &str) -> &str {
    if let Some(rest) = registry.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    registry.split(':').next().unwrap_or(registry)
}

fn is_host(registry: &str) -> bool {
    let (host, port) = match registry
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        Some((address, rest)) => {
            if address.parse::<Ipv6Addr>().is_err() {
                return false;
            }
            (
                None,
                (!rest.is_empty()).then(|| rest.strip_prefix(':').unwrap_or("")),
            )
        }
        None => match registry.split_once(':') {
            Some((host, port)) => (Some(host), Some(port)),
            None => (Some(registry), None),
        },
    };
    let port_is_number = port.is_none_or(|port| {
        !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok()
    });
    port_is_number && host.is_none_or(|host| host.split('.').all(is_host_label))
}

fn is_host_label(label: &str) -> bool {
    !label.is_empty()
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_docker_reads_them() {
        let digest = Digest::of(b"");
        let with_digest = format!("docker.io/library/debian@{digest}");
        let table = [
            ("debian", "docker.io/library/debian:latest"),
            ("debian:12", "docker.io/library/debian:12"),
            ("index.docker.io/debian", "docker.io/library/debian:latest"),
            ("user/app", "docker.io/user/app:latest"),
            ("test.com:5000", "docker.io/library/test.com:5000"),
            ("test:5000/repo", "test:5000/repo:latest"),
            ("localhost/a/b:1", "localhost/a/b:1"),
            ("127.0.0.1:5000/x", "127.0.0.1:5000/x:latest"),
            ("[::1]:5000/x:y", "[::1]:5000/x:y"),
            (
                "ghcr.io/a__b/c-d.e:V1.0-rc_1",
                "ghcr.io/a__b/c-d.e:V1.0-rc_1",
            ),
            (&format!("debian:12@{digest}"), &with_digest),
        ];
        for (text, full) in table {
            let reference: Reference = text.parse().expect(text);
            assert_eq!(reference.to_string(), full);
            assert_eq!(
                reference.familiar().parse::<Reference>().as_ref(),
                Ok(&reference)
            );
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let long = "a".repeat(300);
        let bad = [
            "",
            ":",
            "@",
            "Debian",
            "a//b",
            "/a",
            "a/",
            "a:",
            "a:b:c",
            "-a",
            "a_-b",
            "a..b",
            "a b",
            "a:b/c",
            "a@sha256:00",
            "a@md5:00",
            "x.y:port/z",
            "[::g]/a",
            "[::1]5/a",
            "é",
            "../a",
            &long,
            "x.io:70000/a",
            "a/b:\u{1b}[31m",
        ];
        for text in bad {
            assert!(text.parse::<Reference>().is_err(), "{text}");
        }
    }

    #[test]
    fn loopback_registries_are_told() {
        for (text, loopback) in [
            ("localhost:5000/a", true),
            ("127.3.2.1/a", true),
            ("[::1]:5000/a", true),
            ("a", false),
            ("10.0.0.1/a", false),
            ("localhost.example/a", false),
        ] {
            let reference: Reference = text.parse().expect(text);
            assert_eq!(reference.is_loopback(), loopback, "{text}");
        }
    }
}
