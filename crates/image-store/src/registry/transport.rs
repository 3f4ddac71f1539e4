use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Client, Response, redirect};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use serde::Deserialize;

use super::error::RegistryError;
use crate::text::excerpt;

const USER_AGENT: &str = concat!("msb/", env!("CARGO_PKG_VERSION"));
const CONNECT_PATIENCE: Duration = Duration::from_secs(15);
/// How long an answer may stand still.
const READ_PATIENCE: Duration = Duration::from_secs(30);
const REDIRECTS_MAX: usize = 10;
/// How much of an error's body is read, in bytes.
const ERROR_BODY_MAX_BYTES: u64 = 16 * 1024;

/// How a registry is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// A client for one registry. It follows few redirects, none of them from TLS to plain text; it
/// sends credentials to no other host than the one that they were meant for.
pub(super) fn client(
    registry: &str,
    scheme: Scheme,
    is_local: bool,
) -> Result<Client, RegistryError> {
    let tls = |source| RegistryError::Tls {
        registry: registry.to_owned(),
        source,
    };
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_PATIENCE)
        .read_timeout(READ_PATIENCE)
        .redirect(redirect::Policy::custom(follow))
        .tls_backend_preconfigured(tls_config(scheme).map_err(tls)?);
    if is_local {
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|source| RegistryError::Unreachable {
            registry: registry.to_owned(),
            source,
        })
}

/// The host's own certificate authorities. Without any, plain text still works.
fn tls_config(scheme: Scheme) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = || {
        ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
    };
    match builder()?.with_platform_verifier() {
        Ok(config) => Ok(config.with_no_client_auth()),
        Err(_) if scheme == Scheme::Http => Ok(builder()?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth()),
        Err(error) => Err(error),
    }
}

fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let from_tls = attempt.previous().iter().any(|url| url.scheme() == "https");
    if attempt.previous().len() > REDIRECTS_MAX {
        attempt.error("too many redirects")
    } else if from_tls && attempt.url().scheme() != "https" {
        attempt.error("a redirect from TLS to plain text")
    } else {
        attempt.follow()
    }
}

/// All of an answer, which may not be longer than `limit_bytes`.
pub(super) async fn read_bounded(
    mut response: Response,
    what: &str,
    limit_bytes: u64,
) -> Result<Vec<u8>, RegistryError> {
    let mut bytes = Vec::new();
    loop {
        let part = response.chunk().await.map_err(|source| cut(what, source))?;
        let Some(part) = part else { return Ok(bytes) };
        if u64::try_from(bytes.len() + part.len()).unwrap_or(u64::MAX) > limit_bytes {
            return Err(RegistryError::Long {
                what: what.to_owned(),
                limit_bytes,
            });
        }
        bytes.extend_from_slice(&part);
    }
}

pub(super) fn cut(what: &str, source: reqwest::Error) -> RegistryError {
    RegistryError::Cut {
        what: what.to_owned(),
        source: source.without_url(),
    }
}

/// What a failing registry says about it, if it says so in the specification's words.
pub(super) async fn error_message(response: Response) -> String {
    #[derive(Deserialize)]
    struct Body {
        errors: Vec<Detail>,
    }
    #[derive(Deserialize)]
    struct Detail {
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
    }
    let body = read_bounded(response, "", ERROR_BODY_MAX_BYTES)
        .await
        .unwrap_or_default();
    let first = serde_json::from_slice::<Body>(&body)
        .ok()
        .and_then(|body| body.errors.into_iter().next());
    match first {
        Some(Detail { code, message }) if message.is_empty() => excerpt(&code),
        Some(Detail { message, .. }) => excerpt(&message),
        None => String::new(),
    }
}

/// A header as text; `None` when it is missing or no text.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
