use reqwest::Url;

use super::error::RegistryError;
use super::settings::Registries;
use super::tls_probe::speaks_tls;
use crate::reference::{Reference, is_loopback};
use crate::text::excerpt;

/// Where a registry, or one of its mirrors, is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// Host and port as settings and docker's credentials name them; `docker.io` for Docker Hub.
    pub(super) name: String,
    /// Whether it stands in for another registry, whose credentials are not for it.
    pub(super) is_mirror: bool,
    scheme: Scheme,
    host: String,
    /// What goes before each repository's name, with a slash at its end.
    prefix: String,
}

/// How a registry is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Https,
    Http,
    /// With TLS where it is answered, else in plain text. On the loopback interface alone, where nobody
    /// between could choose the second.
    AsAnswered,
}

impl Scheme {
    /// The scheme of the host `name` where neither an address nor an argument says it. Who names
    /// certificate authorities wants TLS.
    fn of(name: &str, registries: &Registries) -> Self {
        let settings = registries.of(name);
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
    /// The registry of an image's name.
    pub(super) fn of(reference: &Reference, plain_http: bool, registries: &Registries) -> Self {
        let name = reference.registry();
        Self {
            name: name.to_owned(),
            is_mirror: false,
            scheme: match plain_http {
                true => Scheme::Http,
                false => Scheme::of(name, registries),
            },
            host: reference.registry_host().to_owned(),
            prefix: String::new(),
        }
    }

    /// A mirror as settings have it: `[http://|https://]HOST[:PORT][/PREFIX]`.
    pub(super) fn of_mirror(text: &str, registries: &Registries) -> Self {
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
            scheme: scheme.unwrap_or_else(|| Scheme::of(host, registries)),
            host: host.to_owned(),
            prefix: if prefix.is_empty() {
                String::new()
            } else {
                format!("{prefix}/")
            },
        }
    }

    /// The same address, with its scheme settled by whoever listens there where it is theirs to say.
    pub(super) async fn settled(&self) -> Self {
        let mut settled = self.clone();
        if self.scheme == Scheme::AsAnswered {
            settled.scheme = match speaks_tls(&self.host).await {
                true => Scheme::Https,
                false => Scheme::Http,
            };
        }
        settled
    }

    /// What the repository is called there.
    pub(super) fn repository(&self, repository: &str) -> String {
        format!("{}{repository}", self.prefix)
    }

    /// The repository's address there, with a slash at its end.
    pub(super) fn repository_url(&self, repository: &str) -> Result<Url, RegistryError> {
        let text = format!(
            "{}://{}/v2/{}{repository}/",
            self.scheme.as_str(),
            self.host,
            self.prefix
        );
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
            let address = Address::of_mirror(text, &registries);
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
        let address = Address::of_mirror("localhost:5000", &with_authorities);
        assert_eq!(address.scheme, Scheme::Https);
        assert_eq!(url(""), None);
        assert_eq!(url("user:secret@m.io"), None);
    }
}
