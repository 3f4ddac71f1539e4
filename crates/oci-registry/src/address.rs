use oci_image::{Reference, excerpt, is_loopback};
use reqwest::Url;

use super::error::RegistryError;
use super::settings::Registries;
use super::tls_probe::speaks_tls;

/// Address of a registry, or of one of its mirrors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// Host and port, as in the settings and in docker's credentials; `docker.io` for Docker Hub.
    pub(super) name: String,
    /// True for a mirror of another registry, which must not get that registry's credentials.
    pub(super) is_mirror: bool,
    scheme: Scheme,
    host: String,
    /// Path before the name of each repository, with a slash at its end; may be empty.
    prefix: String,
}

/// Protocol of a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Https,
    Http,
    /// TLS if the server answers it, otherwise plain text. Only for the loopback interface, where
    /// an attacker in the network cannot force plain text.
    AsAnswered,
}

impl Scheme {
    /// Returns the scheme of the host `name` if neither an address nor an argument states one. A
    /// user who names certificate authorities wants TLS.
    fn for_host(name: &str, registries: &Registries) -> Self {
        let settings = registries.settings_for(name);
        let has_authorities = registries.authorities.is_some() || settings.ca.is_some();
        match settings.plain_http {
            Some(true) => Self::Http,
            None if is_loopback(name) && !has_authorities => Self::AsAnswered,
            Some(false) | None => Self::Https,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http | Self::AsAnswered => "http",
        }
    }
}

impl Address {
    /// Returns the address of the registry in an image's name.
    pub(super) fn from_reference(
        reference: &Reference,
        plain_http: bool,
        registries: &Registries,
    ) -> Self {
        let name = reference.registry();
        Self {
            name: name.to_owned(),
            is_mirror: false,
            scheme: if plain_http {
                Scheme::Http
            } else {
                Scheme::for_host(name, registries)
            },
            host: reference.registry_host().to_owned(),
            prefix: String::new(),
        }
    }

    /// Returns the address of a mirror in the settings: `[http://|https://]HOST[:PORT][/PREFIX]`.
    pub(super) fn from_mirror(text: &str, registries: &Registries) -> Self {
        let (scheme, rest) = match text.split_once("://") {
            Some(("http", rest)) => (Some(Scheme::Http), rest),
            Some(("https", rest)) => (Some(Scheme::Https), rest),
            _ => (None, text),
        };
        let (host, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_matches('/');
        Self {
            name: host.to_owned(),
            is_mirror: true,
            scheme: scheme.unwrap_or_else(|| Scheme::for_host(host, registries)),
            host: host.to_owned(),
            prefix: if prefix.is_empty() {
                String::new()
            } else {
                format!("{prefix}/")
            },
        }
    }

    /// Returns the same address; if the server chooses between TLS and plain text, with the result
    /// of a probe.
    pub(super) async fn settled(&self) -> Self {
        let mut settled = self.clone();
        if self.scheme == Scheme::AsAnswered {
            settled.scheme = if speaks_tls(&self.host).await {
                Scheme::Https
            } else {
                Scheme::Http
            };
        }
        settled
    }

    /// Returns the name of the repository at this address.
    pub(super) fn repository(&self, repository: &str) -> String {
        format!("{}{repository}", self.prefix)
    }

    /// Returns the repository's URL at this address, with a slash at its end.
    pub(super) fn repository_url(&self, repository: &str) -> Result<Url, RegistryError> {
        self.url(&format!("{}{repository}/", self.prefix))
    }

    /// Returns the URL of the registry itself, with a slash at its end.
    pub(super) fn registry_url(&self) -> Result<Url, RegistryError> {
        self.url("")
    }

    fn url(&self, path: &str) -> Result<Url, RegistryError> {
        let text = format!("{}://{}/v2/{path}", self.scheme.as_str(), self.host);
        let is_whole = |_: &Url| !self.host.is_empty() && !self.host.contains(['@', '?', '#']);
        let url = Url::parse(&text).ok().filter(is_whole);
        url.ok_or_else(|| RegistryError::Address {
            address: excerpt(&text),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_are_hosts_with_scheme_and_prefix() {
        let registries = Registries::default();
        let url = |text: &str| {
            let address = Address::from_mirror(text, &registries);
            address.repository_url("library/a").map(String::from).ok()
        };
        for (text, expected) in [
            ("m.io", "https://m.io/v2/library/a/"),
            ("http://m.io:5000", "http://m.io:5000/v2/library/a/"),
            (
                "localhost:5000/hub/",
                "http://localhost:5000/v2/hub/library/a/",
            ),
        ] {
            assert_eq!(url(text).as_deref(), Some(expected));
        }
        let with_authorities = Registries {
            authorities: Some("ca.pem".into()),
            ..Registries::default()
        };
        let address = Address::from_mirror("localhost:5000", &with_authorities);
        assert_eq!(address.scheme, Scheme::Https);
        assert_eq!(url(""), None);
        assert_eq!(url("user:secret@m.io"), None);
    }
}
