use std::error::Error;
use std::path::Path;

use bytes::Bytes;
use oci_image::excerpt;
use reqwest::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
};
use reqwest::{Client, Method, Response, Url, redirect};
use rustls::ClientConfig;
use serde::Deserialize;
use tokio::sync::OnceCell;

use super::body::Body;
use super::connect_error::ConnectError;
use super::error::RegistryError;
use super::limits::RegistryLimits;
use super::private::{self, PrivateAddress, Resolver};
use super::proxy::Proxies;
use super::settings::{Registries, RegistrySettings};
use super::tls::{HostAuthorities, TlsRoots};
use super::upload::BlobPart;

const USER_AGENT: &str = concat!("msb/", env!("CARGO_PKG_VERSION"));
/// Largest part of an error's body that is read, in bytes.
const ERROR_BODY_MAX_BYTES: u64 = 16 * 1024;

/// HTTP access to one registry and to the servers that it refers to. Redirects are limited, and
/// none leads from TLS to plain text. Credentials are sent only to the host, port and scheme that
/// they are for. A registry on the internet cannot refer to a private address.
#[derive(Debug)]
pub(super) struct Transport {
    /// URL of the repository at the registry, or of the registry itself.
    pub(super) base: Url,
    pub(super) limits: RegistryLimits,
    proxies: Proxies,
    own: Client,
    anonymous: TlsRoots,
    others: OnceCell<Others>,
}

/// Client for servers other than the registry.
#[derive(Debug)]
struct Others {
    client: Client,
    only_public: bool,
}

/// An HTTP request.
#[derive(Debug, Clone)]
pub(super) struct Outgoing<'a> {
    /// Description of the requested object, for messages.
    pub(super) what: &'a str,
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) payload: Payload<'a>,
}

/// Body of a request.
#[derive(Clone)]
pub(super) enum Payload<'a> {
    /// No body.
    Empty,
    /// A form that contains credentials.
    Form(String),
    /// A document.
    Document(Bytes),
    /// A part of a blob, whose bytes are made again for each attempt.
    Part(&'a BlobPart),
}

/// Shows no contents, which may be credentials.
impl std::fmt::Debug for Payload<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Empty => "Empty",
            Self::Form(_) => "Form(…)",
            Self::Document(_) => "Document(…)",
            Self::Part(_) => "Part(…)",
        })
    }
}

impl Outgoing<'_> {
    /// Returns the request with an `Authorization` header, if there is one.
    pub(super) fn authorized(mut self, header: Option<HeaderValue>) -> Self {
        self.headers
            .extend(header.map(|value| (AUTHORIZATION, value)));
        self
    }
}

impl Payload<'_> {
    /// Returns true if the request can be sent to the target of a redirect with this status. With
    /// other statuses than 307 and 308 it would become another request (RFC 9110, section 15.4).
    fn survives(&self, status: u16) -> bool {
        matches!(self, Self::Empty) || matches!(status, 307 | 308)
    }
}

impl Transport {
    pub(super) fn new(
        base: Url,
        limits: RegistryLimits,
        registries: &Registries,
        settings: &RegistrySettings,
    ) -> Result<Self, RegistryError> {
        let host = authority(&base);
        let proxies = match &settings.proxy {
            Some(proxy) => Proxies::only(proxy),
            None => registries.proxies.clone(),
        };
        if let Some(proxy) = proxies.broken() {
            return Err(RegistryError::Proxy {
                proxy: excerpt(&proxy),
            });
        }
        let files = [registries.authorities.as_deref(), settings.ca.as_deref()];
        let files: Vec<&Path> = files.into_iter().flatten().collect();
        let trust = TlsRoots::read(&host, &files, &registries.certificate_directories)?;
        let anonymous = trust.anonymous();
        let authorities = HostAuthorities::to_reach(&base, &proxies);
        let tls = tls(&base, trust, authorities)?;
        let own = client(&base, tls, &proxies, &limits, Resolver::Any)?;
        Ok(Self {
            base,
            limits,
            proxies,
            own,
            anonymous,
            others: OnceCell::new(),
        })
    }

    /// Returns the registry's host with its port, for messages.
    pub(super) fn host(&self) -> String {
        authority(&self.base)
    }

    /// Sends a request and follows redirects. Returns the final response, whatever its status.
    pub(super) async fn send(&self, mut request: Outgoing<'_>) -> Result<Response, RegistryError> {
        for _ in 0..=self.limits.redirects {
            let response = self.send_once(&request).await?;
            let Some(next) = self.redirect(&request, &response)? else {
                return Ok(response);
            };
            if !same_origin(&next, &request.url) {
                request.headers.remove(AUTHORIZATION);
            }
            request.url = next;
        }
        let limit = self.limits.redirects;
        Err(self.bad_redirect(
            &request,
            &format!("it is one of more than {limit} in a row"),
        ))
    }

    async fn send_once(&self, request: &Outgoing<'_>) -> Result<Response, RegistryError> {
        let client = self.client_for(&request.url).await?;
        let builder = client
            .request(request.method.clone(), request.url.clone())
            .headers(request.headers.clone());
        let builder = match &request.payload {
            // A request without a body and without its length is refused by some registries.
            Payload::Empty if matches!(request.method, Method::POST | Method::PUT) => {
                builder.header(CONTENT_LENGTH, HeaderValue::from_static("0"))
            }
            Payload::Empty => builder,
            Payload::Form(form) => {
                let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
                builder.header(CONTENT_TYPE, form_type).body(form.clone())
            }
            Payload::Document(bytes) => builder.body(bytes.clone()),
            Payload::Part(part) => {
                let length = HeaderValue::from(part.length_bytes());
                let builder = builder.header(CONTENT_LENGTH, length);
                let sending = builder.body(part.body()).send();
                let sent = tokio::select! {
                    sent = sending => sent,
                    stalled = part.stalled(&self.limits) => return Err(stalled),
                };
                return sent.map_err(|source| match part.failure() {
                    Some(failure) => failure,
                    None => self.failed(request, source),
                });
            }
        };
        let sent = tokio::time::timeout(self.limits.idle, builder.send()).await;
        let stalled = |_| RegistryError::Stalled {
            what: request.what.to_owned(),
            after: self.limits.idle,
        };
        sent.map_err(stalled)?
            .map_err(|source| self.failed(request, source))
    }

    /// Returns the target of a redirect; `None` if the response is not one.
    fn redirect(
        &self,
        request: &Outgoing<'_>,
        response: &Response,
    ) -> Result<Option<Url>, RegistryError> {
        let bad = |problem: &str| Err(self.bad_redirect(request, problem));
        let status = response.status().as_u16();
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        if matches!(request.payload, Payload::Form(_)) {
            return bad("it would pass on credentials");
        }
        if !request.payload.survives(status) {
            return bad("it would become a request without its body");
        }
        let next = location(&request.url, response);
        next.map(Some).or_else(bad)
    }

    /// Returns the client for an address. A registry at a private address may refer to others.
    async fn client_for(&self, url: &Url) -> Result<&Client, RegistryError> {
        if same_origin(url, &self.base) {
            return Ok(&self.own);
        }
        let others = self.others.get_or_try_init(|| self.others()).await?;
        if others.only_public {
            private::check_literal(url).map_err(|source| self.private(source))?;
        }
        Ok(&others.client)
    }

    async fn others(&self) -> Result<Others, RegistryError> {
        let only_public = match self.proxies.choose(&self.base) {
            // The proxy resolves the registry's name, so its addresses are not known here.
            Some(_) => private::check_literal(&self.base).is_ok(),
            None => !private::is_private_host(&self.base).await,
        };
        let trusted = self.proxies.hosts();
        let resolver = if only_public {
            Resolver::Public { trusted }
        } else {
            Resolver::Any
        };
        let trust = self.anonymous.anonymous();
        let authorities = match HostAuthorities::to_reach(&self.base, &self.proxies) {
            // The registry may refer to a server with TLS.
            HostAuthorities::Unneeded => HostAuthorities::Wanted,
            others => others,
        };
        let tls = tls(&self.base, trust, authorities)?;
        let client = client(&self.base, tls, &self.proxies, &self.limits, resolver)?;
        Ok(Others {
            client,
            only_public,
        })
    }

    fn bad_redirect(&self, request: &Outgoing<'_>, problem: &str) -> RegistryError {
        RegistryError::Redirect {
            registry: self.host(),
            what: request.what.to_owned(),
            problem: problem.to_owned(),
        }
    }

    fn private(&self, source: PrivateAddress) -> RegistryError {
        RegistryError::PrivateAddress {
            registry: self.host(),
            problem: source.to_string(),
        }
    }

    fn failed(&self, request: &Outgoing<'_>, source: reqwest::Error) -> RegistryError {
        let mut cause: Option<&(dyn Error + 'static)> = Some(&source);
        while let Some(error) = cause {
            if let Some(private) = error.downcast_ref::<PrivateAddress>() {
                return RegistryError::PrivateAddress {
                    registry: self.host(),
                    problem: private.to_string(),
                };
            }
            cause = error.source();
        }
        if source.is_connect() {
            let proxy = self.proxies.choose(&request.url);
            return RegistryError::Unreachable {
                registry: authority(&request.url),
                source: ConnectError::from_reqwest(source, proxy.is_some()),
                proxy: proxy.map(|proxy| authority(&proxy)),
            };
        }
        RegistryError::cut(request.what, source)
    }
}

fn tls(
    base: &Url,
    trust: TlsRoots,
    authorities: HostAuthorities,
) -> Result<ClientConfig, RegistryError> {
    trust
        .config(authorities)
        .map_err(|source| RegistryError::Tls {
            registry: authority(base),
            source,
        })
}

fn client(
    base: &Url,
    tls: ClientConfig,
    proxies: &Proxies,
    limits: &RegistryLimits,
    resolver: Resolver,
) -> Result<Client, RegistryError> {
    let chosen = proxies.clone();
    Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(limits.connect)
        .redirect(redirect::Policy::none())
        .proxy(reqwest::Proxy::custom(move |url| chosen.choose(url)))
        .tls_backend_preconfigured(tls)
        .dns_resolver(std::sync::Arc::new(resolver))
        .build()
        .map_err(|source| RegistryError::Unreachable {
            registry: authority(base),
            proxy: None,
            source: ConnectError::from_reqwest(source, false),
        })
}

/// Returns the address in the `Location` header of an answer to a request for `url`. Otherwise
/// returns the reason why it cannot be followed.
pub(super) fn location(url: &Url, response: &Response) -> Result<Url, &'static str> {
    let Some(location) = header(response.headers(), LOCATION.as_str()) else {
        return Err("it has no Location");
    };
    let Ok(next) = url.join(location) else {
        return Err("its Location is not a valid address");
    };
    match (url.scheme(), next.scheme()) {
        ("https", "http") => Err("it redirects from TLS to plain text"),
        (_, "http" | "https") => Ok(without_credentials(next)),
        _ => Err("its Location is not an HTTP address"),
    }
}

/// Returns the host, and the port if it is not the scheme's default.
pub(super) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Returns `url` without a user name and password, which would be sent as msb's own.
pub(super) fn without_credentials(mut url: Url) -> Url {
    // Only URLs with a host have credentials, and those of such a URL can be removed.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

/// Returns true if two addresses have the same scheme, host and port.
pub(super) fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host_str() == other.host_str()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// Returns the message of a failed request, if it has the form of the distribution specification;
/// otherwise an empty text.
pub(super) async fn error_message(response: Response, limits: &RegistryLimits) -> String {
    #[derive(Deserialize)]
    struct Errors {
        errors: Vec<Detail>,
    }
    #[derive(Deserialize)]
    struct Detail {
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
    }
    let body = Body::new(response, "", limits).all(ERROR_BODY_MAX_BYTES);
    let body = body.await.unwrap_or_default();
    let first = serde_json::from_slice::<Errors>(&body)
        .ok()
        .and_then(|body| body.errors.into_iter().next());
    match first {
        Some(Detail { code, message }) if message.is_empty() => excerpt(&code),
        Some(Detail { message, .. }) => excerpt(&message),
        None => String::new(),
    }
}

/// Returns a header as text; `None` if it is missing or not text.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
