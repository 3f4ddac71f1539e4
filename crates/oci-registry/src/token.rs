use std::time::SystemTime;

use oci_image::excerpt;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, Response, Url};
use serde::Deserialize;

use super::body::Body;
use super::credentials::{Credential, basic_header};
use super::error::RegistryError;
use super::retry;
use super::transport::{Outgoing, Payload, Transport, error_message, header, without_credentials};

/// A request for a token, with the credential that proves the user.
#[derive(Debug)]
pub(super) struct TokenRequest<'a> {
    pub(super) transport: &'a Transport,
    /// Scopes of the token, such as `repository:team/app:pull`.
    pub(super) scopes: &'a [String],
    pub(super) realm: &'a str,
    pub(super) service: Option<&'a str>,
    pub(super) credential: Option<&'a Credential>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
}

impl TokenRequest<'_> {
    /// Requests a token. Returns it as an `Authorization` header.
    pub(super) async fn send(&self) -> Result<HeaderValue, RegistryError> {
        let registry = &self.transport.base;
        let realm = check_realm(registry, self.realm, self.credential.is_some())?;
        let what = format!("a token from {}", excerpt(self.realm));
        let response = self.transport.send(self.request(&what, realm)).await?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let limits = &self.transport.limits;
        let body = Body::new(response, &what, limits).all(limits.token_bytes);
        token_header(&body.await?).ok_or_else(|| RegistryError::Token {
            realm: excerpt(self.realm),
        })
    }

    /// Requests a token; if it is refused, one for the first scope alone. A user who may push need
    /// not be allowed to pull from the repositories of the other scopes.
    pub(super) async fn send_or_reduce(&self) -> Result<HeaderValue, RegistryError> {
        match (self.send().await, self.scopes) {
            (Err(RegistryError::Unauthorized { .. }), [own, _, ..]) => {
                let scopes = std::slice::from_ref(own);
                Self { scopes, ..*self }.send().await
            }
            (outcome, _) => outcome,
        }
    }

    /// Builds the request. Its scopes are what msb is about to do, whatever the realm suggests.
    fn request<'a>(&self, what: &'a str, mut url: Url) -> Outgoing<'a> {
        let scopes = self.scopes.join(" ");
        let mut parameters: Vec<(&str, &str)> = Vec::new();
        parameters.extend(self.service.map(|service| ("service", service)));
        let (mut headers, mut payload) = (HeaderMap::new(), Payload::Empty);
        match self.credential {
            Some(Credential::IdentityToken(token)) => {
                // The scopes of a form are one field, those of a query are one field each.
                parameters.push(("scope", &scopes));
                parameters.push(("grant_type", "refresh_token"));
                parameters.push(("client_id", "msb"));
                parameters.push(("refresh_token", token));
                let mut fields = self.transport.base.clone();
                fields.query_pairs_mut().clear().extend_pairs(parameters);
                payload = Payload::Form(fields.query().unwrap_or_default().to_owned());
            }
            credential => {
                if let Some(Credential::Password { username, password }) = credential {
                    headers.extend(basic_header(username, password).map(|it| (AUTHORIZATION, it)));
                }
                parameters.extend(self.scopes.iter().map(|scope| ("scope", scope.as_str())));
                let own: Vec<(String, String)> = url
                    .query_pairs()
                    .filter(|(name, _)| name != "scope" && name != "service")
                    .map(|(name, value)| (name.into_owned(), value.into_owned()))
                    .collect();
                let mut query = url.query_pairs_mut();
                query.clear().extend_pairs(own).extend_pairs(parameters);
            }
        }
        let method = match payload {
            Payload::Form(_) => Method::POST,
            _ => Method::GET,
        };
        Outgoing {
            what,
            method,
            url,
            headers,
            payload,
        }
    }

    async fn refused(&self, response: Response) -> RegistryError {
        let registry = self.transport.host();
        let status = response.status().as_u16();
        let retry_after = header(response.headers(), "retry-after")
            .and_then(|text| retry::retry_after(text, SystemTime::now()));
        let message = error_message(response, &self.transport.limits).await;
        if matches!(status, 400 | 401 | 403) {
            return RegistryError::Unauthorized {
                registry,
                what: match self.scopes {
                    [] => "a user's account".to_owned(),
                    [scope, ..] => scope.split(':').nth(1).unwrap_or_default().to_owned(),
                },
                message,
                credentials: self.credential.is_some(),
            };
        }
        RegistryError::Status {
            registry,
            what: "a token".to_owned(),
            status,
            message,
            retry_after,
        }
    }
}

/// Checks the URL of a token server. Credentials are sent over TLS, or in plain text to the
/// registry's own host if the registry uses plain text too. A registry with TLS must not have a
/// token server without it.
fn check_realm(registry: &Url, realm: &str, credentials: bool) -> Result<Url, RegistryError> {
    let address = || RegistryError::Address {
        address: excerpt(realm),
    };
    let url = Url::parse(realm).map_err(|_| address())?;
    let own_host = url.host_str() == registry.host_str();
    let is_safe = match (url.scheme(), registry.scheme()) {
        ("https", _) => true,
        ("http", "http") => own_host || !credentials,
        ("http", _) => false,
        _ => return Err(address()),
    };
    if !is_safe {
        return Err(RegistryError::UnsafeRealm {
            registry: registry.host_str().unwrap_or_default().to_owned(),
            realm: excerpt(realm),
        });
    }
    Ok(without_credentials(url))
}

fn token_header(bytes: &[u8]) -> Option<HeaderValue> {
    let answer: TokenAnswer = serde_json::from_slice(bytes).ok()?;
    let token = answer
        .token
        .filter(|token| !token.is_empty())
        .or(answer.access_token)
        .filter(|token| !token.is_empty())?;
    // A token with a line break would add a header.
    let mut header = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_go_nowhere_unsafe() {
        for (registry, realm, with, without) in [
            ("https://r.io", "https://auth.io/token", true, true),
            ("https://r.io", "http://r.io/token", false, false),
            ("http://r.io:5000", "http://r.io:5001/token", true, true),
            ("http://r.io:5000", "http://evil.io/token", false, true),
            ("https://r.io", "file:///etc/passwd", false, false),
            ("https://r.io", "not an address", false, false),
        ] {
            let registry = Url::parse(registry).expect("a registry");
            let is_good = |credentials| check_realm(&registry, realm, credentials).is_ok();
            assert_eq!(is_good(true), with, "{registry} {realm}");
            assert_eq!(is_good(false), without, "{registry} {realm}");
        }
    }

    #[test]
    fn a_token_has_one_of_two_names_and_fits_in_a_header() {
        assert!(token_header(b"{\"token\":\"a\\r\\nX: y\"}").is_none());
        assert!(token_header(b"{\"token\":\"\"}").is_none());
        assert!(token_header(b"{\"access_token\":\"a\"}").is_some());
    }
}
