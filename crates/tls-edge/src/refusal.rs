//! The answers that msb gives in place of the host: short, and plain for people and agents.

use std::sync::Arc;

use http::header::{CONNECTION, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use msb_secrets::{InvalidPath, SecretName};
use serde_json::json;

use crate::body::AnswerBody;
use crate::event::{logged_method, logged_path};
use crate::limits::{ACTIVE_MAX, FIELDS_MAX};
use crate::place::NotPlaced;
use crate::record::Record;
use crate::values::NoValue;

/// The header that tells an answer of msb from one of the host, with a word for the reason.
static REFUSED: HeaderName = HeaderName::from_static("x-msb-refused");
/// The header that names the rules that decided.
static RULE: HeaderName = HeaderName::from_static("x-msb-rule");

/// A reason why a request, or its answer, is not passed on.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The sandbox has as many requests at once as it may have.
    Busy,
    /// CONNECT or TRACE.
    Method,
    /// The request does not name the host of the connection, once.
    Authority,
    /// The head has too many fields.
    Fields,
    /// The body has another coding than chunked.
    Coding,
    /// The path can be read in two ways.
    Path(InvalidPath),
    /// No rule admits the request.
    Rule(DeniedRequest),
    /// A value is missing.
    NoValue(NoValue),
    /// A value cannot be placed.
    NotPlaced(NotPlaced),
    /// The host did not prove its name, for this reason.
    Unproved(String),
    /// The host gave no answer.
    Unanswered,
    /// The host's answer is not HTTP.
    Malformed,
    /// The answer cannot be searched for the value of this secret.
    Encoded(SecretName),
    /// The head of the answer holds the value of this secret.
    Reflected(SecretName),
}

/// A request that no rule admits.
#[derive(Debug)]
pub(crate) struct DeniedRequest {
    /// The method.
    pub(crate) method: String,
    /// The path.
    pub(crate) path: String,
}

impl Refusal {
    /// Returns true if the connection is not used again: the guest's idea of it differs from msb's, or the host's
    /// end is lost.
    pub(crate) fn closes(&self) -> bool {
        match self {
            Self::Method | Self::Authority | Self::Fields | Self::Coding => true,
            Self::Unanswered | Self::Malformed | Self::Reflected(_) => true,
            Self::Busy | Self::Path(_) | Self::Rule(_) | Self::NoValue(_) | Self::NotPlaced(_) => {
                false
            }
            Self::Unproved(_) | Self::Encoded(_) => false,
        }
    }

    /// Returns the answer, on a connection to a host with this authority.
    pub(crate) fn answer(
        &self,
        authority: &str,
        is_h2: bool,
        record: Arc<Record>,
    ) -> Response<AnswerBody> {
        let (status, word) = self.status();
        let is_json = matches!(self, Self::Rule(_));
        let text = match self {
            Self::Rule(denied) => denied.json(authority),
            _ => format!("msb: {}\n", self.text(authority)),
        };
        let mut answer = Response::new(AnswerBody::text(text, record));
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        let kind = if is_json {
            "application/json"
        } else {
            "text/plain; charset=utf-8"
        };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(&REFUSED, HeaderValue::from_static(word));
        if is_json && let Ok(rule) = HeaderValue::from_str(&format!("https://{authority}")) {
            headers.insert(&RULE, rule);
        }
        if self.closes() && !is_h2 {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }

    fn status(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "method"),
            Self::Authority => (StatusCode::MISDIRECTED_REQUEST, "authority"),
            Self::Fields => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "fields"),
            Self::Coding => (StatusCode::NOT_IMPLEMENTED, "transfer-encoding"),
            Self::Path(_) => (StatusCode::BAD_REQUEST, "path"),
            Self::Rule(_) => (StatusCode::FORBIDDEN, "rule"),
            Self::NoValue(_) | Self::NotPlaced(_) => (StatusCode::BAD_GATEWAY, "secret.value"),
            Self::Unproved(_) => (StatusCode::BAD_GATEWAY, "upstream.certificate"),
            Self::Unanswered | Self::Malformed => (StatusCode::BAD_GATEWAY, "upstream"),
            Self::Encoded(_) => (StatusCode::BAD_GATEWAY, "secret.encoded"),
            Self::Reflected(_) => (StatusCode::BAD_GATEWAY, "secret.reflected"),
        }
    }

    fn text(&self, authority: &str) -> String {
        match self {
            Self::Busy => format!(
                "the sandbox has {ACTIVE_MAX} requests at once to hosts whose TLS is ended, which is the limit: \
                 repeat the request to {authority} once one of them has ended"
            ),
            Self::Method => {
                format!("CONNECT and TRACE are not supported on a connection to {authority}")
            }
            Self::Authority => format!(
                "this connection is for {authority}: send this name, once, as the host of the request"
            ),
            Self::Fields => {
                format!("a request to {authority} can have at most {FIELDS_MAX} fields in its head")
            }
            Self::Coding => {
                "a body can be chunked or have a length, other transfer encodings are not supported"
                    .to_owned()
            }
            Self::Path(reason) => format!("the path can be read in two ways: {reason}"),
            Self::Rule(denied) => denied.text(authority),
            Self::NoValue(reason) => format!("cannot send the request to {authority}: {reason}"),
            Self::NotPlaced(reason) => format!("cannot send the request to {authority}: {reason}"),
            Self::Unproved(reason) => {
                format!("cannot verify that the server is {authority}: {reason}")
            }
            Self::Unanswered => format!("{authority} closed the connection without an answer"),
            Self::Malformed => format!("{authority} sent an answer that is not valid HTTP"),
            Self::Encoded(secret) => format!(
                "{authority} has carried the request out, and encoded its answer although it was asked not to: \
                 the answer cannot be searched for the value of secret {secret} and is withheld"
            ),
            Self::Reflected(secret) => format!(
                "{authority} has carried the request out, and its answer holds the value of secret {secret} \
                 and is withheld"
            ),
        }
    }
}

impl DeniedRequest {
    fn json(&self, authority: &str) -> String {
        let Self { method, path } = self;
        let json = json!({
            "error": "denied",
            "message": self.text(authority),
            "host": authority,
            "method": logged_method(method),
            "path": logged_path(path),
        });
        format!("{json}\n")
    }

    fn text(&self, authority: &str) -> String {
        format!(
            "no rule of --net-allow https://{authority} admits {} {}",
            logged_method(&self.method),
            logged_path(&self.path)
        )
    }
}

#[cfg(test)]
mod tests;
