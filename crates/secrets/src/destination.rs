use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use serde::{Deserialize, Serialize};

use crate::host::{HostPattern, InvalidHost};
use crate::method::{InvalidMethod, Method, is_method_list};
use crate::path::checked_path;
use crate::path_pattern::{InvalidPathPattern, PathPattern};
use crate::shown::shown;

#[cfg(test)]
mod tests;

/// The port of a destination that states none.
const HTTPS_PORT: u16 = 443;
/// Most methods of a destination.
const METHODS_MAX: usize = 16;

/// Hosts that are reached over HTTPS, and the requests to them: `api.example.com:8443/v1/*:GET,POST`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HttpsDestination {
    /// The hosts, whose certificates prove their names.
    pub host: HostPattern,
    /// The port, 443 if none was stated.
    pub port: u16,
    /// The paths of the requests; `None` for all.
    pub path: Option<PathPattern>,
    /// The methods of the requests; empty for all.
    pub methods: Vec<Method>,
}

/// The text is not a destination.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDestination {
    /// The text has another scheme than `https`.
    #[error("'{}' is not reached over HTTPS: write a host, or https://HOST", shown(.text))]
    Scheme {
        /// The refused text.
        text: String,
    },
    /// The port is not a number from 1 to 65535.
    #[error("'{}' has an invalid port: write a port from 1 to 65535", shown(.text))]
    Port {
        /// The refused text.
        text: String,
    },
    /// The destination has too many methods.
    #[error("'{}' has {count} methods, the limit is {METHODS_MAX}", shown(.text))]
    Methods {
        /// The refused text.
        text: String,
        /// Number of methods.
        count: usize,
    },
    /// The text has another form.
    #[error("'{}' is not a destination: write HOST, HOST:PORT or HOST/PATH*:METHOD,METHOD", shown(.text))]
    Form {
        /// The refused text.
        text: String,
    },
    /// The host cannot be one of a destination.
    #[error(transparent)]
    Host(#[from] InvalidHost),
    /// The path cannot be one of a destination.
    #[error(transparent)]
    Path(#[from] InvalidPathPattern),
    /// A method cannot be one of a destination.
    #[error(transparent)]
    Method(#[from] InvalidMethod),
}

impl HttpsDestination {
    /// Returns true if the destination has this host and this port.
    #[must_use]
    pub fn is_for(&self, name: &str, port: u16) -> bool {
        self.port == port && self.host.matches(name)
    }

    /// Returns true if the destination has a request of this method and this path.
    ///
    /// `path` is the path as it was sent, without its query; it is decoded here, once. An ambiguous path is
    /// in no destination that has a path.
    #[must_use]
    pub fn admits(&self, method: &str, path: &str) -> bool {
        let has_method =
            self.methods.is_empty() || self.methods.iter().any(|known| known.as_str() == method);
        has_method
            && self.path.as_ref().is_none_or(|pattern| {
                checked_path(path).is_ok_and(|checked| pattern.matches(&checked))
            })
    }
}

impl FromStr for HttpsDestination {
    type Err = InvalidDestination;

    fn from_str(text: &str) -> Result<Self, InvalidDestination> {
        let rest = text.strip_prefix("https://").unwrap_or(text);
        if rest.contains("://") {
            return Err(InvalidDestination::Scheme {
                text: text.to_owned(),
            });
        }
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        let (authority, mut methods) = split_methods(authority);
        let (path, of_path) = split_methods(path);
        if !path.is_empty() && !methods.is_empty() {
            return Err(InvalidDestination::Form {
                text: text.to_owned(),
            });
        }
        methods.extend(of_path);
        let (host, port) = split_port(authority, text)?;
        Ok(Self {
            host: host.parse()?,
            port,
            path: (!path.is_empty())
                .then(|| path.parse::<PathPattern>())
                .transpose()?,
            methods: parse_methods(&methods, text)?,
        })
    }
}

/// Splits the methods off the end of a text. A colon that other text follows belongs to the rest.
fn split_methods(text: &str) -> (&str, Vec<&str>) {
    match text.rsplit_once(':') {
        Some((rest, methods)) if is_method_list(methods) => (rest, methods.split(',').collect()),
        _ => (text, Vec::new()),
    }
}

fn split_port<'a>(authority: &'a str, text: &str) -> Result<(&'a str, u16), InvalidDestination> {
    // The colons of an IPv6 address separate no port.
    if authority.starts_with('[') || authority.parse::<Ipv6Addr>().is_ok() {
        let text = authority.to_owned();
        return Err(InvalidHost::Address { text }.into());
    }
    let Some((host, port)) = authority.split_once(':') else {
        return Ok((authority, HTTPS_PORT));
    };
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port) if is_number && port > 0 => Ok((host, port)),
        _ => Err(InvalidDestination::Port {
            text: text.to_owned(),
        }),
    }
}

fn parse_methods(words: &[&str], text: &str) -> Result<Vec<Method>, InvalidDestination> {
    let mut methods = Vec::new();
    for word in words {
        let method: Method = word.parse()?;
        if !methods.contains(&method) {
            methods.push(method);
        }
    }
    if methods.len() > METHODS_MAX {
        return Err(InvalidDestination::Methods {
            text: text.to_owned(),
            count: methods.len(),
        });
    }
    Ok(methods)
}

impl fmt::Display for HttpsDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.host)?;
        if self.port != HTTPS_PORT {
            write!(f, ":{}", self.port)?;
        }
        if let Some(path) = &self.path {
            write!(f, "{path}")?;
        }
        for (index, method) in self.methods.iter().enumerate() {
            let separator = if index == 0 { ':' } else { ',' };
            write!(f, "{separator}{method}")?;
        }
        Ok(())
    }
}

impl TryFrom<String> for HttpsDestination {
    type Error = InvalidDestination;

    fn try_from(text: String) -> Result<Self, InvalidDestination> {
        text.parse()
    }
}

impl From<HttpsDestination> for String {
    fn from(destination: HttpsDestination) -> Self {
        destination.to_string()
    }
}

impl Diagnose for InvalidDestination {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Scheme { .. } | Self::Port { .. } | Self::Methods { .. } | Self::Form { .. } => {
                Diagnosis::new(ErrorKind::InvalidArgument)
            }
            Self::Host(source) => source.diagnosis(),
            Self::Path(source) => source.diagnosis(),
            Self::Method(source) => source.diagnosis(),
        }
    }
}
