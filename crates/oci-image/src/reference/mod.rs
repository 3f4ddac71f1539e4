use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

mod error;
mod grammar;
mod manifest_digest;

pub use error::InvalidReference;
pub use manifest_digest::ManifestDigest;

use crate::excerpt::excerpt;

const DOCKER_HUB: &str = "docker.io";
const DOCKER_HUB_REGISTRY: &str = "registry-1.docker.io";
const OFFICIAL_NAMESPACE: &str = "library/";
const DEFAULT_TAG: &str = "latest";
/// Longest repository, in bytes.
const REPOSITORY_MAX_BYTES: usize = 255;

/// The name of an image, as docker reads it: `[REGISTRY/]REPOSITORY[:TAG][@DIGEST]`.
///
/// The default registry is Docker Hub. The default tag is `latest` if there is no digest; with
/// both, the digest selects the image. The grammar, the full form and the short form are those of
/// the module `github.com/distribution/reference`, and a test compares the two. The one exception
/// is a short form that would be read as another image; [`Reference::familiar`] avoids it.
///
/// ```
/// use oci_image::Reference;
///
/// let reference: Reference = "debian:12".parse()?;
/// assert_eq!(reference.to_string(), "docker.io/library/debian:12");
/// assert_eq!(reference.familiar(), "debian:12");
/// # Ok::<(), oci_image::InvalidReference>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<ManifestDigest>,
}

impl Reference {
    /// Returns the registry; `docker.io` if the name states none. It is empty if the first part
    /// looks like a host but is not valid as one (`a_b.c/d`): such a name is valid, but cannot be
    /// pulled.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Returns the repository in the registry, including `library/`.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Returns the tag; `None` if there is none. If there is a digest too, the digest selects the
    /// image.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the digest that selects the image; `None` if there is none.
    pub const fn digest(&self) -> Option<&ManifestDigest> {
        self.digest.as_ref()
    }

    /// Returns the name without the parts that docker omits: `debian:12`, not
    /// `docker.io/library/debian:12`. If the short name would be read as another image, returns the
    /// full name: docker's own short form of `docker.io/a.example/b` is an image of the registry
    /// `a.example`.
    pub fn familiar(&self) -> String {
        let full = self.to_string();
        let short = self.without_defaults(&full);
        if in_full(short) == full {
            short.to_owned()
        } else {
            full
        }
    }

    fn without_defaults<'a>(&self, full: &'a str) -> &'a str {
        if self.registry != DOCKER_HUB {
            return full;
        }
        let rest = full.strip_prefix("docker.io/").unwrap_or(full);
        match self.repository.strip_prefix(OFFICIAL_NAMESPACE) {
            Some(short) if !short.contains('/') => &rest[OFFICIAL_NAMESPACE.len()..],
            _ => rest,
        }
    }

    /// Returns the name under which the store records the image. It has no tag if there is a
    /// digest, because the tag then selects nothing.
    pub fn canonical(&self) -> Self {
        let mut name = self.clone();
        if name.digest.is_some() {
            name.tag = None;
        }
        name
    }

    /// Returns the host that serves the registry, with its port.
    pub fn registry_host(&self) -> &str {
        if self.registry == DOCKER_HUB {
            DOCKER_HUB_REGISTRY
        } else {
            &self.registry
        }
    }

    /// Returns the digest or the tag, as at the end of a manifest's address.
    pub fn version(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, Some(tag)) => tag.clone(),
            (None, None) => DEFAULT_TAG.to_owned(),
        }
    }
}

/// Returns true if a host, with or without a port, is on this host's loopback interface.
pub fn is_loopback(host: &str) -> bool {
    let host = host_without_port(host);
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<Ipv4Addr>()
            .is_ok_and(|address| address.is_loopback())
        || host
            .parse::<Ipv6Addr>()
            .is_ok_and(|address| address.is_loopback())
}

fn host_without_port(registry: &str) -> &str {
    if let Some(rest) = registry.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    registry.split(':').next().unwrap_or(registry)
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.registry.is_empty() {
            write!(formatter, "{}/", self.registry)?;
        }
        formatter.write_str(&self.repository)?;
        if let Some(tag) = &self.tag {
            write!(formatter, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(formatter, "@{digest}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Reference {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if grammar::is_identifier(text) {
            return Err(InvalidReference::Identifier {
                text: excerpt(text),
            });
        }
        let full = in_full(text);
        let (name, digest) = match full.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (full.as_str(), None),
        };
        let (name, tag) = match name.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
            _ => (name, None),
        };
        let (registry, repository) = grammar::split_name(text, name)?;
        if let Some(tag) = tag.filter(|tag| !grammar::is_tag(tag)) {
            return Err(InvalidReference::Tag {
                text: excerpt(text),
                tag: excerpt(tag),
            });
        }
        let digest = digest.map(str::parse).transpose();
        let digest = digest.map_err(|source| InvalidReference::Digest {
            text: excerpt(text),
            source,
        })?;
        let tag = tag.or_else(|| digest.is_none().then_some(DEFAULT_TAG));
        Ok(Self {
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            tag: tag.map(str::to_owned),
            digest,
        })
    }
}

/// Returns `text` with the registry and the namespace that it omits. The first component is a
/// registry if it looks like a host: it contains a dot, a port or a capital, or is `localhost`.
fn in_full(text: &str) -> String {
    let host_like = |first: &str| {
        first.contains(['.', ':']) || first == "localhost" || first.to_lowercase() != first
    };
    let (registry, rest) = match text.split_once('/') {
        Some((first, rest)) if host_like(first) => (first, rest),
        _ => (DOCKER_HUB, text),
    };
    match registry {
        DOCKER_HUB | "index.docker.io" if rest.contains('/') => format!("{DOCKER_HUB}/{rest}"),
        DOCKER_HUB | "index.docker.io" => format!("{DOCKER_HUB}/{OFFICIAL_NAMESPACE}{rest}"),
        other => format!("{other}/{rest}"),
    }
}

#[cfg(test)]
mod tests;
