use reqwest::header::HeaderValue;
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde::Deserialize;

use super::credentials::Credential;
use super::error::RegistryError;
use super::transport::{Scheme, cut, error_message, read_bounded};
use crate::text::excerpt;

/// Longest answer of a token server, in bytes.
const TOKEN_MAX_BYTES: u64 = 1 << 20;

/// Whom a token is for, and what proves it.
#[derive(Debug)]
pub(super) struct TokenRequest<'a> {
    pub(super) registry: &'a Url,
    pub(super) scheme: Scheme,
    pub(super) repository: &'a str,
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
    /// Gets a token that may pull, as an `Authorization` header.
    pub(super) async fn send(&self, client: &Client) -> Result<HeaderValue, RegistryError> {
        let realm = self.check_realm()?;
        let what = format!("a token from {}", excerpt(self.realm));
        let response = self
            .request(client, realm)
            .send()
            .await
            .map_err(|source| cut(&what, source))?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refused(status, response).await);
        }
        let bytes = read_bounded(response, &what, TOKEN_MAX_BYTES).await?;
        self.header(&bytes).ok_or_else(|| RegistryError::Token {
            realm: excerpt(self.realm),
        })
    }

    /// Credentials go out over TLS, or to the registry's own host when that speaks plain text too.
    fn check_realm(&self) -> Result<Url, RegistryError> {
        let address = || RegistryError::Address {
            address: excerpt(self.realm),
        };
        let realm = Url::parse(self.realm).map_err(|_| address())?;
        let own_host = realm.host_str() == self.registry.host_str();
        let safe = match (realm.scheme(), self.scheme) {
            ("https", _) => true,
            ("http", Scheme::Http) => own_host || self.credential.is_none(),
            ("http", Scheme::Https) => false,
            _ => return Err(address()),
        };
        if !safe {
            return Err(RegistryError::UnsafeRealm {
                registry: self.host(),
                realm: excerpt(self.realm),
            });
        }
        Ok(realm)
    }

    fn request(&self, client: &Client, mut realm: Url) -> RequestBuilder {
        let scope = format!("repository:{}:pull", self.repository);
        let mut parameters = vec![("scope", scope.as_str())];
        parameters.extend(self.service.map(|service| ("service", service)));
        match self.credential {
            Some(Credential::IdentityToken(token)) => {
                parameters.push(("grant_type", "refresh_token"));
                parameters.push(("client_id", "msb"));
                parameters.push(("refresh_token", token));
                let mut form = self.registry.clone();
                form.query_pairs_mut().clear().extend_pairs(parameters);
                let body = form.query().unwrap_or_default().to_owned();
                client
                    .post(realm)
                    .header("Content-Type", "application/x-www-form-urlencoded")
                    .body(body)
            }
            Some(Credential::Password { username, password }) => {
                realm.query_pairs_mut().extend_pairs(parameters);
                client.get(realm).basic_auth(username, Some(password))
            }
            None => {
                realm.query_pairs_mut().extend_pairs(parameters);
                client.get(realm)
            }
        }
    }

    async fn refused(&self, status: StatusCode, response: reqwest::Response) -> RegistryError {
        let (registry, what) = (self.host(), self.repository.to_owned());
        let message = error_message(response).await;
        if matches!(status.as_u16(), 400 | 401 | 403) {
            let credentials = self.credential.is_some();
            return RegistryError::Unauthorized {
                registry,
                what,
                message,
                credentials,
            };
        }
        let (what, status) = ("a token".to_owned(), status.as_u16());
        RegistryError::Status {
            registry,
            what,
            status,
            message,
            retry_after: None,
        }
    }

    fn header(&self, bytes: &[u8]) -> Option<HeaderValue> {
        let answer: TokenAnswer = serde_json::from_slice(bytes).ok()?;
        let token = answer
            .token
            .filter(|token| !token.is_empty())
            .or(answer.access_token)?;
        // A token with a line break in it would be a second header.
        let mut header = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        header.set_sensitive(true);
        Some(header)
    }

    fn host(&self) -> String {
        self.registry.host_str().unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_go_nowhere_unsafe() {
        let credential = Credential::IdentityToken("secret".to_owned());
        for (registry, realm, with, without) in [
            ("https://r.io", "https://auth.io/token", true, true),
            ("https://r.io", "http://r.io/token", false, false),
            ("http://r.io:5000", "http://r.io:5001/token", true, true),
            ("http://r.io:5000", "http://evil.io/token", false, true),
            ("https://r.io", "file:///etc/passwd", false, false),
            ("https://r.io", "not an address", false, false),
        ] {
            let registry = Url::parse(registry).expect("a registry");
            let scheme = if registry.scheme() == "https" {
                Scheme::Https
            } else {
                Scheme::Http
            };
            let mut request = TokenRequest {
                registry: &registry,
                scheme,
                repository: "a",
                realm,
                service: None,
                credential: Some(&credential),
            };
            assert_eq!(request.check_realm().is_ok(), with, "{registry} {realm}");
            request.credential = None;
            assert_eq!(request.check_realm().is_ok(), without, "{registry} {realm}");
            assert!(request.header(b"{\"token\":\"a\\r\\nX: y\"}").is_none());
            assert!(request.header(b"{\"access_token\":\"a\"}").is_some());
        }
    }
}
