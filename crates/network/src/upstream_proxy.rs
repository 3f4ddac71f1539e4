use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::proxy::{ProxyUrl, parse_url};

/// The word for the proxy of the environment.
const ENVIRONMENT: &str = "env";

/// The variables that name the proxies of a user, in the order in which they are looked for, and the destinations
/// without a proxy.
pub const PROXY_VARIABLES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// The proxy that a sandbox's connections go through. It holds no password: that is in the environment only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum UpstreamProxy {
    /// The proxy that the variables of the user name at a start; none if they name none.
    Environment,
    /// One proxy, for every destination but this host.
    At(ProxyUrl),
}

/// The error for text that is not an upstream proxy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUpstreamProxy {
    /// The text has a user or a password.
    #[error(
        "the upstream proxy has a user or a password, which the list of processes and the sandbox's record would show: \
         write them into the variable HTTPS_PROXY and give env in place of the proxy"
    )]
    Credentials,
    /// The text is not the address of a proxy.
    #[error(
        "'{proxy}' is not an upstream proxy: write http://HOST:PORT, socks5h://HOST:PORT, socks5://HOST:PORT or env"
    )]
    Form {
        /// The text, without what may be a password.
        proxy: String,
    },
}

impl FromStr for UpstreamProxy {
    type Err = InvalidUpstreamProxy;

    fn from_str(text: &str) -> Result<Self, InvalidUpstreamProxy> {
        if text == ENVIRONMENT {
            return Ok(Self::Environment);
        }
        // A user that does not parse may be a password too.
        if text.contains('@') {
            return Err(InvalidUpstreamProxy::Credentials);
        }
        let url = parse_url(text).filter(|_| text.contains("://"));
        let (url, _) = url.ok_or_else(|| InvalidUpstreamProxy::Form {
            proxy: text.escape_debug().to_string(),
        })?;
        Ok(Self::At(url))
    }
}

impl fmt::Display for UpstreamProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => f.write_str(ENVIRONMENT),
            Self::At(url) => url.fmt(f),
        }
    }
}

impl TryFrom<String> for UpstreamProxy {
    type Error = InvalidUpstreamProxy;

    fn try_from(text: String) -> Result<Self, InvalidUpstreamProxy> {
        text.parse()
    }
}

impl From<UpstreamProxy> for String {
    fn from(proxy: UpstreamProxy) -> Self {
        proxy.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_written_as_it_is_read() {
        for (text, canonical) in [
            ("env", "env"),
            ("http://Proxy.corp:3128", "http://proxy.corp:3128"),
            ("http://10.0.0.1:3128/", "http://10.0.0.1:3128"),
            ("socks5h://[fd00::1]:1080", "socks5h://[fd00::1]:1080"),
            ("socks5://localhost", "socks5://localhost:1080"),
        ] {
            let proxy: UpstreamProxy = text.parse().unwrap();
            assert_eq!(proxy.to_string(), canonical);
            assert_eq!(canonical.parse::<UpstreamProxy>().unwrap(), proxy);
        }
    }

    #[test]
    fn what_is_no_proxy_is_refused_and_no_password_is_printed() {
        for text in [
            "",
            "proxy:3128",
            "https://proxy:3128",
            "socks4://proxy:1080",
            "http://proxy:0",
            "http://proxy:3128/path",
            "http://pro xy:3128",
        ] {
            let error = text.parse::<UpstreamProxy>().unwrap_err();
            assert!(matches!(error, InvalidUpstreamProxy::Form { .. }), "{text}");
        }
        for text in ["http://a:hunter2@proxy:3128", "a:hunter2@proxy", "@"] {
            let error = text.parse::<UpstreamProxy>().unwrap_err();
            assert_eq!(error, InvalidUpstreamProxy::Credentials);
            assert!(!error.to_string().contains("hunter2"));
        }
    }
}
