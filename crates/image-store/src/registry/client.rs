use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue, RANGE, WWW_AUTHENTICATE};
use reqwest::{Client, Response, Url};
use tokio::sync::Mutex;

use super::challenge::Challenge;
use super::credentials::{Credential, CredentialSource};
use super::error::RegistryError;
use super::token::TokenRequest;
use super::transport::{self, Scheme, cut, error_message, header, read_bounded};
use crate::digest::Digest;
use crate::progress::{Event, Progress};
use crate::reference::Reference;

/// How often something is asked for in all, when the registry fails for the moment.
const ATTEMPTS: u32 = 4;
/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(300);
/// Longest pause that a registry can ask for.
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// One repository of one registry.
pub(crate) struct Registry {
    client: Client,
    scheme: Scheme,
    base: Url,
    pub(super) host: String,
    repository: String,
    credential: Option<Credential>,
    authorization: Mutex<Authorization>,
    progress: Arc<dyn Progress>,
}

/// What goes with each request, and how often it was renewed.
#[derive(Debug, Clone, Default)]
struct Authorization {
    header: Option<HeaderValue>,
    generation: u32,
}

/// What to ask for.
#[derive(Debug)]
pub(super) struct Request<'a> {
    /// Below the repository's address: `manifests/latest`.
    pub(super) path: String,
    /// For messages.
    pub(super) what: &'a str,
    pub(super) accept: Option<String>,
    /// First byte that is wanted.
    pub(super) from_byte: u64,
}

/// A short answer.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) bytes: Vec<u8>,
    pub(super) content_type: Option<String>,
    /// The digest that the registry says it has.
    pub(super) promised: Option<Digest>,
}

impl Fetched {
    async fn read(response: Response, what: &str, limit_bytes: u64) -> Result<Self, RegistryError> {
        let headers = response.headers();
        let content_type = header(headers, "content-type")
            .and_then(|text| text.split(';').next())
            .map(|text| text.trim().to_owned());
        let promised = header(headers, "docker-content-digest").and_then(|text| text.parse().ok());
        let bytes = read_bounded(response, what, limit_bytes).await?;
        Ok(Self {
            bytes,
            content_type,
            promised,
        })
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Registry({} {})", self.base, self.repository)
    }
}

impl Registry {
    /// The repository that `reference` names. Nothing is asked yet.
    pub(crate) async fn new(
        reference: &Reference,
        plain_http: bool,
        credentials: &CredentialSource,
        progress: Arc<dyn Progress>,
    ) -> Result<Self, RegistryError> {
        let host = reference.registry_host().to_owned();
        let is_local = crate::reference::is_loopback(reference.registry());
        let scheme = if plain_http || is_local {
            Scheme::Http
        } else {
            Scheme::Https
        };
        let base = format!("{}://{host}/v2/{}/", scheme.name(), reference.repository());
        let base = Url::parse(&base).map_err(|_| RegistryError::Address { address: base })?;
        let credential = credentials
            .find(reference.registry())
            .await
            .map_err(|source| RegistryError::Credentials {
                registry: host.clone(),
                source,
            })?;
        Ok(Self {
            client: transport::client(&host, scheme, is_local)?,
            scheme,
            base,
            repository: reference.repository().to_owned(),
            host,
            credential,
            authorization: Mutex::default(),
            progress,
        })
    }

    /// All of a short answer; asked for again while the registry fails for the moment.
    pub(super) async fn fetch(
        &self,
        request: &Request<'_>,
        limit_bytes: u64,
    ) -> Result<Fetched, RegistryError> {
        let mut failures = 0;
        loop {
            let outcome = match self.get(request).await {
                Ok(response) => Fetched::read(response, request.what, limit_bytes).await,
                Err(error) => Err(error),
            };
            match outcome {
                Err(error) if error.is_transient() && failures + 1 < ATTEMPTS => {
                    self.pause(request.what, &error, failures).await;
                    failures += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Waits a while after `failures` and one more.
    pub(super) async fn pause(&self, what: &str, error: &RegistryError, failures: u32) {
        let own = FIRST_PAUSE * 2_u32.saturating_pow(failures.min(16));
        let after = error
            .retry_after()
            .unwrap_or(own)
            .clamp(FIRST_PAUSE, PAUSE_MAX);
        self.progress.event(&Event::Retrying {
            what,
            reason: &error.to_string(),
            after,
        });
        tokio::time::sleep(after).await;
    }

    /// Asks once, with a new token if the old one is refused; gives an answer of success.
    pub(super) async fn get(&self, request: &Request<'_>) -> Result<Response, RegistryError> {
        let address = || RegistryError::Address {
            address: request.path.clone(),
        };
        let url = self.base.join(&request.path).map_err(|_| address())?;
        let authorization = self.authorization.lock().await.clone();
        let response = self.send(request, &url, authorization.header).await?;
        if response.status() != 401 {
            return self.checked(request, response).await;
        }
        let challenges = response.headers().get_all(WWW_AUTHENTICATE);
        let challenges = challenges.iter().filter_map(|value| value.to_str().ok());
        let Some(challenge) = Challenge::parse(challenges) else {
            return self.checked(request, response).await;
        };
        let header = self.authorize(&challenge, authorization.generation).await?;
        if header.is_none() {
            return self.checked(request, response).await;
        }
        let response = self.send(request, &url, header).await?;
        self.checked(request, response).await
    }

    async fn send(
        &self,
        request: &Request<'_>,
        url: &Url,
        authorization: Option<HeaderValue>,
    ) -> Result<Response, RegistryError> {
        let mut builder = self.client.get(url.clone());
        if let Some(header) = authorization {
            builder = builder.header(AUTHORIZATION, header);
        }
        if let Some(accept) = &request.accept {
            builder = builder.header(ACCEPT, accept);
        }
        if request.from_byte > 0 {
            builder = builder.header(RANGE, format!("bytes={}-", request.from_byte));
        }
        builder.send().await.map_err(|source| {
            if source.is_connect() || source.is_redirect() {
                let registry = self.host.clone();
                return RegistryError::Unreachable {
                    registry,
                    source: source.without_url(),
                };
            }
            cut(request.what, source)
        })
    }

    /// Meets a challenge, unless another request has done so since `generation`.
    async fn authorize(
        &self,
        challenge: &Challenge,
        generation: u32,
    ) -> Result<Option<HeaderValue>, RegistryError> {
        let mut authorization = self.authorization.lock().await;
        if authorization.generation != generation {
            return Ok(authorization.header.clone());
        }
        let header = match (challenge, &self.credential) {
            (Challenge::Bearer { realm, service, .. }, credential) => {
                let request = TokenRequest {
                    registry: &self.base,
                    scheme: self.scheme,
                    repository: &self.repository,
                    realm,
                    service: service.as_deref(),
                    credential: credential.as_ref(),
                };
                Some(request.send(&self.client).await?)
            }
            (Challenge::Basic, Some(Credential::Password { username, password })) => {
                basic(username, password)
            }
            (Challenge::Basic, _) => None,
        };
        *authorization = Authorization {
            header: header.clone(),
            generation: generation + 1,
        };
        Ok(header)
    }

    async fn checked(
        &self,
        request: &Request<'_>,
        response: Response,
    ) -> Result<Response, RegistryError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let (registry, what) = (self.host.clone(), request.what.to_owned());
        let retry_after = header(response.headers(), "retry-after")
            .and_then(|text| text.trim().parse().ok())
            .map(Duration::from_secs);
        let message = error_message(response).await;
        Err(match status.as_u16() {
            401 | 403 => {
                let credentials = self.credential.is_some();
                RegistryError::Unauthorized {
                    registry,
                    what,
                    message,
                    credentials,
                }
            }
            404 => RegistryError::NotFound { registry, what },
            status => RegistryError::Status {
                registry,
                what,
                status,
                message,
                retry_after,
            },
        })
    }
}

fn basic(username: &str, password: &str) -> Option<HeaderValue> {
    use base64::Engine as _;
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("{username}:{password}"));
    let mut header = HeaderValue::from_str(&format!("Basic {pair}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}
