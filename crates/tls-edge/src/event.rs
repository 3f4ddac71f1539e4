//! The records of ended connections for the log of the network.

use msb_secrets::SecretName;
use serde::{Deserialize, Serialize};

/// The longest name of a host in a record.
const HOST_MAX: usize = 255;
/// The longest method in a record.
const METHOD_MAX: usize = 16;
/// The longest path in a record.
const PATH_MAX: usize = 1_024;
/// The number of characters of a token from which on a segment of a path may be a credential.
const TOKEN_MIN: usize = 32;

/// The receiver of the events of ended connections.
pub trait Events: Send + Sync {
    /// Takes an event. It must not wait.
    fn event(&self, event: EdgeEvent);
}

/// An event of a connection whose TLS is, or could be, ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event")]
#[non_exhaustive]
pub enum EdgeEvent {
    /// The guest began TLS and named a server.
    #[serde(rename = "tls")]
    Hello {
        /// The name that the guest stated, which nothing proves.
        sni: String,
        /// True if the connection is ended, false if it is passed on.
        ended: bool,
    },
    /// A request was answered, or refused.
    #[serde(rename = "http")]
    Http(HttpRecord),
    /// A placeholder stood where no value is placed.
    #[serde(rename = "secret.misplaced")]
    SecretMisplaced {
        /// The name of the secret.
        secret: SecretName,
        /// The header's name, `path`, `query` or `request`.
        place: String,
    },
    /// An answer held the value of a secret and was withheld.
    #[serde(rename = "secret.reflected")]
    SecretReflected {
        /// The name of the secret.
        secret: SecretName,
        /// The host that answered.
        host: String,
        /// The path of the request.
        path: String,
    },
    /// An answer was compressed, or encoded otherwise, so that it could not be searched, and was withheld. A value
    /// was placed on the connection, in its request or in one before it.
    #[serde(rename = "secret.encoded")]
    SecretEncoded {
        /// The name of the secret whose value was placed last on the connection: the answer could hold it, or another one.
        secret: SecretName,
        /// The host that answered.
        host: String,
        /// The path of the request.
        path: String,
    },
    /// The guest did not accept the certificate that msb showed.
    #[serde(rename = "tls.refused")]
    TlsRefused {
        /// The name that the guest stated.
        sni: String,
        /// The alert that the guest sent, such as `unknown_ca`; `None` if it closed the connection.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alert: Option<String>,
    },
    /// The host did not prove its name, or could not be reached over TLS.
    #[serde(rename = "upstream.certificate")]
    UpstreamCertificate {
        /// The name that the guest stated.
        sni: String,
        /// The reason, for people.
        reason: String,
    },
}

/// A request of an ended connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRecord {
    /// The method, shortened.
    pub method: String,
    /// The host, which its certificate proved.
    pub host: String,
    /// The path without its query; a segment that may be a credential is `…`.
    pub path: String,
    /// True if the request has a query.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub query: bool,
    /// The status of the answer; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Bytes of the request's body.
    pub sent: u64,
    /// Bytes of the answer's body.
    pub received: u64,
    /// Time from the request's head to the answer's end, in milliseconds.
    pub ms: u64,
    /// The version of HTTP: `http/1.1` or `h2`.
    pub version: String,
    /// The secrets whose values were placed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretName>,
    /// The decision about it.
    pub verdict: HttpVerdict,
}

/// The decision about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HttpVerdict {
    /// The request was sent to the host.
    Allowed,
    /// The request was answered by msb and not sent.
    Denied,
}

/// Returns a host's name as a record may hold it.
pub(crate) fn logged_host(host: &str) -> String {
    shortened(host, HOST_MAX)
}

/// Returns a method as a record may hold it.
pub(crate) fn logged_method(method: &str) -> String {
    shortened(method, METHOD_MAX)
}

/// Returns a path as a record may hold it: without its query, without segments that may be credentials, and short.
///
/// It has to be called with the path that the guest sent, before a value is placed.
pub(crate) fn logged_path(path: &str) -> String {
    let end = path.find(['?', '#']).unwrap_or(path.len());
    let (path, _) = path.split_at(end);
    let mut logged = String::new();
    for (index, segment) in path.split('/').enumerate() {
        if index > 0 {
            logged.push('/');
        }
        logged.push_str(if may_be_token(segment) {
            "…"
        } else {
            segment
        });
        if logged.len() > PATH_MAX {
            break;
        }
    }
    shortened(&logged, PATH_MAX)
}

/// Returns a text of at most `max` bytes: the text itself, or its begin and `…`.
pub(crate) fn shortened(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max.saturating_sub('…'.len_utf8()));
    let (begin, _) = text.split_at(end);
    format!("{begin}…")
}

/// Returns true if a segment holds so many characters of a token in a row that it may be a credential.
fn may_be_token(segment: &str) -> bool {
    segment
        .split(|letter: char| !is_of_token(letter))
        .any(|run| run.len() >= TOKEN_MIN)
}

fn is_of_token(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | ':' | '%' | '=' | '+' | '~')
}

#[cfg(test)]
mod tests;
