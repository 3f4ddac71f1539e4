use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};

use super::Proxy;
use super::credentials::Credentials;
use super::exceptions::Exceptions;
use super::url::{ProxyUrl, parse_url};
use crate::upstream_proxy::{PROXY_VARIABLES, UpstreamProxy};

/// The number of a proxy's addresses that are tried.
const ADDRESSES_MAX: usize = 8;
/// The number of variables that name a proxy. The others are of its exceptions.
const PROXIES: usize = 4;

/// The upstream proxy cannot be used, so the network does not start.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamProxyError {
    /// A variable of the environment is not the address of a proxy.
    #[error(
        "the variable {variable} is not an upstream proxy: write http://[USER:PASSWORD@]HOST:PORT or \
         socks5h://[USER:PASSWORD@]HOST:PORT"
    )]
    Variable {
        /// The name of the variable. Its value may have a password.
        variable: &'static str,
    },
    /// The proxy's name cannot be resolved on this host.
    #[error("cannot resolve the upstream proxy '{host}' on this host")]
    Host {
        /// The name.
        host: String,
        /// The underlying error.
        #[source]
        source: io::Error,
    },
}

/// A proxy that the environment names.
type OfEnvironment = (ProxyUrl, Option<Credentials>, Exceptions);

impl Proxy {
    /// Finds the proxy and its addresses. `None` if it is that of the environment, which names none.
    pub(crate) fn find(proxy: &UpstreamProxy) -> Result<Option<Self>, UpstreamProxyError> {
        let found = match proxy {
            UpstreamProxy::At(url) => Some((url.clone(), None, Exceptions::default())),
            UpstreamProxy::Environment => of_environment(|name| std::env::var(name).ok())?,
        };
        let Some((url, credentials, exceptions)) = found else {
            return Ok(None);
        };
        Ok(Some(Self {
            protocol: url.protocol,
            addresses: resolve(&url)?,
            credentials,
            exceptions,
        }))
    }
}

fn of_environment(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<OfEnvironment>, UpstreamProxyError> {
    let filled = |name: &&'static str| {
        let value = variable(name).filter(|value| !value.trim().is_empty());
        value.map(|value| (*name, value))
    };
    let Some((name, value)) = PROXY_VARIABLES.iter().take(PROXIES).find_map(filled) else {
        return Ok(None);
    };
    let (url, credentials) =
        parse_url(value.trim()).ok_or(UpstreamProxyError::Variable { variable: name })?;
    let exceptions = PROXY_VARIABLES.iter().skip(PROXIES).find_map(filled);
    let exceptions = exceptions.map(|(_, list)| Exceptions::parse(&list));
    Ok(Some((url, credentials, exceptions.unwrap_or_default())))
}

fn resolve(url: &ProxyUrl) -> Result<Vec<SocketAddr>, UpstreamProxyError> {
    let failed = |source| UpstreamProxyError::Host {
        host: url.host.clone(),
        source,
    };
    let addresses = (url.host.as_str(), url.port).to_socket_addrs();
    let addresses: Vec<_> = addresses.map_err(failed)?.take(ADDRESSES_MAX).collect();
    if addresses.is_empty() {
        return Err(failed(io::ErrorKind::NotFound.into()));
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<OfEnvironment>, UpstreamProxyError> {
        of_environment(|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_names_a_proxy_its_user_and_its_exceptions() {
        assert!(
            of(&[("NO_PROXY", "*"), ("HTTPS_PROXY", " ")])
                .unwrap()
                .is_none()
        );
        let (url, credentials, exceptions) = of(&[
            ("ALL_PROXY", "socks5h://other:1080"),
            ("https_proxy", "http://u:p@proxy.corp:3128/"),
            ("no_proxy", "10.0.0.0/8"),
        ])
        .unwrap()
        .unwrap();
        assert_eq!(url.to_string(), "http://proxy.corp:3128");
        assert!(credentials.is_some());
        assert!(exceptions.contain("10.0.0.1:1".parse().unwrap(), None));
        let (url, ..) = of(&[("ALL_PROXY", "proxy")]).unwrap().unwrap();
        assert_eq!(url.to_string(), "http://proxy:80");
    }

    #[test]
    fn a_broken_variable_is_named_without_its_value() {
        let error = of(&[("HTTPS_PROXY", "https://u:hunter2@proxy:3128")]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("HTTPS_PROXY") && !text.contains("hunter2"),
            "{text}"
        );
    }
}
