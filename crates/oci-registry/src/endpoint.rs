use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use oci_image::{Digest, excerpt};
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Method, Response, Url};
use tokio::sync::Mutex;

use super::address::Address;
use super::body::Body;
use super::challenge::Challenge;
use super::client::Client;
use super::credentials::{Credential, basic_header};
use super::error::RegistryError;
use super::requested_bytes::RequestedBytes;
use super::retry::{self, Failures};
use super::retry_listener::{Retry, RetryListener};
use super::token::TokenRequest;
use super::transport::{Outgoing, Payload, Transport, error_message, header, same_origin};

/// The most times that one request is sent because its token was refused.
const ATTEMPTS_MAX: u32 = 4;

/// A repository on one host: on the registry itself, or on one of its mirrors.
pub(crate) struct Endpoint {
    pub(super) transport: Transport,
    /// Scopes of the tokens: that of this repository first, then those of the repositories from which
    /// blobs are mounted.
    scopes: Vec<String>,
    credential: Option<Credential>,
    authorization: Mutex<Authorization>,
    is_throttled: AtomicBool,
    listener: Arc<dyn RetryListener>,
}

/// The `Authorization` header, and the number of times that it was renewed.
#[derive(Debug, Clone, Default)]
struct Authorization {
    header: Option<HeaderValue>,
    generation: u32,
}

/// A request to the repository.
#[derive(Debug)]
pub(super) struct Request<'a> {
    /// Path below the repository's URL, such as `manifests/latest`.
    pub(super) path: String,
    /// Description of the requested object, for messages.
    pub(super) what: &'a str,
    pub(super) accept: Option<String>,
    pub(super) bytes: RequestedBytes,
}

/// A response that was read as a whole.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) bytes: Vec<u8>,
    pub(super) content_type: Option<String>,
    /// Digest in the `Docker-Content-Digest` header, if it is valid.
    pub(super) promised: Option<Digest>,
}

impl Request<'_> {
    /// Returns the request for an address.
    fn outgoing(&self, url: Url) -> Outgoing<'_> {
        let mut headers = HeaderMap::new();
        let accept = self.accept.as_deref();
        let accept = accept.and_then(|accept| HeaderValue::from_str(accept).ok());
        headers.extend(accept.map(|value| (ACCEPT, value)));
        self.bytes.add_to(&mut headers);
        Outgoing {
            what: self.what,
            method: Method::GET,
            url,
            headers,
            payload: Payload::Empty,
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Endpoint({})", self.transport.base)
    }
}

impl Endpoint {
    /// Returns the repository at `address`, to pull from. The only requests are for credentials
    /// and, on the loopback interface, to detect TLS.
    pub(super) async fn new(
        address: &Address,
        client: &Client<'_>,
        repository: &str,
    ) -> Result<Self, RegistryError> {
        let base = address.settled().await.repository_url(repository)?;
        let scope = format!("repository:{}:pull", address.repository(repository));
        let repository = address.repository(repository);
        Self::at(base, address, client, (Some(&repository), vec![scope])).await
    }

    /// Returns the repository at `address`, to push to, and to mount blobs of `mountable`, which
    /// are other repositories of the same registry.
    pub(super) async fn to_push(
        address: &Address,
        client: &Client<'_>,
        repository: &str,
        mountable: &[String],
    ) -> Result<Self, RegistryError> {
        let base = address.settled().await.repository_url(repository)?;
        let own = format!("repository:{repository}:pull,push");
        let others = mountable.iter().filter(|other| *other != repository);
        let others = others.map(|other| format!("repository:{other}:pull"));
        let scopes = std::iter::once(own).chain(others).collect();
        Self::at(base, address, client, (Some(repository), scopes)).await
    }

    /// Returns the registry at `address`, to learn whether it accepts a credential.
    pub(super) async fn to_log_in(
        address: &Address,
        client: &Client<'_>,
    ) -> Result<Self, RegistryError> {
        let base = address.settled().await.registry_url()?;
        Self::at(base, address, client, (None, Vec::new())).await
    }

    /// Returns the registry, of which one repository is used unless there is none, and tokens of
    /// these scopes.
    async fn at(
        base: Url,
        address: &Address,
        client: &Client<'_>,
        (repository, scopes): (Option<&str>, Vec<String>),
    ) -> Result<Self, RegistryError> {
        let settings = client.registries.settings_for(&address.name);
        let transport = Transport::new(base, client.limits.clone(), client.registries, &settings)?;
        let credential = client.credential(address, repository).await?;
        Ok(Self {
            transport,
            scopes,
            credential,
            authorization: Mutex::default(),
            is_throttled: AtomicBool::new(false),
            listener: Arc::clone(&client.listener),
        })
    }

    /// Returns the host with its port, for messages.
    pub(super) fn host(&self) -> String {
        self.transport.host()
    }

    /// Returns true if the registry asked for authorization and got it.
    pub(super) async fn has_authorization(&self) -> bool {
        self.authorization.lock().await.header.is_some()
    }

    /// Returns a whole response of at most `limit_bytes`. Retries while the registry fails
    /// temporarily.
    pub(super) async fn fetch(
        &self,
        request: &Request<'_>,
        limit_bytes: u64,
    ) -> Result<Fetched, RegistryError> {
        let mut failures = Failures::default();
        loop {
            let error = match self.fetch_once(request, limit_bytes).await {
                Err(error) if error.is_transient() => error,
                outcome => return outcome,
            };
            let Some(earlier) = failures.add(&self.transport.limits, &error, 0) else {
                return Err(error);
            };
            self.pause(request.what, &error, earlier).await;
        }
    }

    async fn fetch_once(
        &self,
        request: &Request<'_>,
        limit_bytes: u64,
    ) -> Result<Fetched, RegistryError> {
        let response = self.get(request).await?;
        let headers = response.headers();
        let content_type = header(headers, "content-type")
            .and_then(|text| text.split(';').next())
            .map(|text| text.trim().to_owned());
        let promised = header(headers, "docker-content-digest").and_then(|text| text.parse().ok());
        let body = Body::new(response, request.what, &self.transport.limits);
        Ok(Fetched {
            bytes: body.all(limit_bytes).await?,
            content_type,
            promised,
        })
    }

    /// Waits before the next attempt; `failures` is the number of failures before this one.
    pub(super) async fn pause(&self, what: &str, error: &RegistryError, failures: u32) {
        let after = self.delay(error, failures);
        self.listener.retrying(&Retry {
            what,
            reason: &error.to_string(),
            after,
        });
        tokio::time::sleep(after).await;
    }

    /// Waits as [`pause`](Self::pause) does, without a notice.
    pub(super) async fn wait(&self, error: &RegistryError, failures: u32) {
        tokio::time::sleep(self.delay(error, failures)).await;
    }

    /// Returns true if the registry has refused a request because there were too many.
    pub(super) fn is_throttled(&self) -> bool {
        self.is_throttled.load(Ordering::Relaxed)
    }

    /// Returns the time to wait after an error, and notes whether the registry is throttled.
    fn delay(&self, error: &RegistryError, failures: u32) -> Duration {
        if error.is_throttling() {
            self.is_throttled.store(true, Ordering::Relaxed);
        }
        retry::pause(&self.transport.limits, failures, error.retry_after())
    }

    /// Sends a request once, and again with a new token if the old one is refused. Returns a
    /// successful response.
    pub(super) async fn get(&self, request: &Request<'_>) -> Result<Response, RegistryError> {
        let outgoing = request.outgoing(self.url(&request.path)?);
        let response = self.call(&outgoing).await?;
        self.checked(request.what, response).await
    }

    /// Returns the address of a path below the repository's URL.
    pub(super) fn url(&self, path: &str) -> Result<Url, RegistryError> {
        let joined = self.transport.base.join(path);
        joined.map_err(|_| RegistryError::Address {
            address: excerpt(path),
        })
    }

    /// Sends a request once, and again with a new token if the old one is refused. Returns the
    /// response, whatever its status. Another host than the registry's gets no credentials.
    ///
    /// A token that another request renewed may have expired since then, so it may be refused as
    /// the old one was. The refusal of a token that this request renewed itself is the answer.
    pub(super) async fn call(&self, request: &Outgoing<'_>) -> Result<Response, RegistryError> {
        if !same_origin(&request.url, &self.transport.base) {
            return self.transport.send(request.clone()).await;
        }
        let mut authorization = self.authorization.lock().await.clone();
        let (mut is_own, mut attempts) = (false, 0);
        loop {
            let header = authorization.header.clone();
            let attempt = request.clone().authorized(header);
            let response = self.transport.send(attempt).await?;
            attempts += 1;
            let challenge = match self.challenge(&response) {
                Some(challenge) if !is_own && attempts < ATTEMPTS_MAX => challenge,
                _ => return Ok(response),
            };
            (authorization, is_own) = self.authorize(&challenge, authorization.generation).await?;
            if authorization.header.is_none() {
                return Ok(response);
            }
        }
    }

    /// Returns the challenge of a response that refuses a request for its authorization. A redirect
    /// may have led to another host, whose challenge is not the registry's.
    fn challenge(&self, response: &Response) -> Option<Challenge> {
        if response.status() != 401 || !same_origin(response.url(), &self.transport.base) {
            return None;
        }
        let challenges = response.headers().get_all(WWW_AUTHENTICATE);
        Challenge::parse(challenges.iter().filter_map(|value| value.to_str().ok()))
    }

    /// Sends an anonymous request to an address outside of the registry.
    pub(super) async fn get_elsewhere(
        &self,
        what: &str,
        url: &Url,
        bytes: RequestedBytes,
    ) -> Result<Response, RegistryError> {
        let request = Request {
            path: String::new(),
            what,
            accept: None,
            bytes,
        };
        let response = self.transport.send(request.outgoing(url.clone())).await?;
        self.checked(what, response).await
    }

    /// Answers a challenge, unless another request has done so since `generation`. Returns the
    /// newest authorization, and whether it was renewed here.
    async fn authorize(
        &self,
        challenge: &Challenge,
        generation: u32,
    ) -> Result<(Authorization, bool), RegistryError> {
        let mut authorization = self.authorization.lock().await;
        if authorization.generation != generation {
            return Ok((authorization.clone(), false));
        }
        let header = match (challenge, &self.credential) {
            (Challenge::Bearer { realm, service, .. }, credential) => {
                let request = TokenRequest {
                    transport: &self.transport,
                    scopes: &self.scopes,
                    realm,
                    service: service.as_deref(),
                    credential: credential.as_ref(),
                };
                Some(request.send_or_reduce().await?)
            }
            (Challenge::Basic, Some(Credential::Password { username, password })) => {
                basic_header(username, password)
            }
            (Challenge::Basic, _) => None,
        };
        *authorization = Authorization {
            header,
            generation: generation + 1,
        };
        Ok((authorization.clone(), true))
    }

    /// Returns a successful response; otherwise its error.
    pub(super) async fn checked(
        &self,
        what: &str,
        response: Response,
    ) -> Result<Response, RegistryError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let (registry, what) = (self.host(), what.to_owned());
        let retry_after = header(response.headers(), "retry-after")
            .and_then(|text| retry::retry_after(text, SystemTime::now()));
        let message = error_message(response, &self.transport.limits).await;
        Err(match status.as_u16() {
            401 | 403 => RegistryError::Unauthorized {
                registry,
                what,
                message,
                credentials: self.credential.is_some(),
            },
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
