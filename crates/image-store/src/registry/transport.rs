use std::error::Error;
use std::path::Path;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, Url, redirect};
use rustls::ClientConfig;
use serde::Deserialize;
use tokio::sync::OnceCell;

use super::body::Body;
use super::error::RegistryError;
use super::limits::RegistryLimits;
use super::private::{self, PrivateAddress, PublicResolver};
use super::proxy::Proxies;
use super::settings::{Registries, RegistrySettings};
use super::tls::{HostAuthorities, Trust};
use crate::text::excerpt;

const USER_AGENT: &str = concat!("msb/", env!("CARGO_PKG_VERSION"));
/// How much of an error's body is read, in bytes.
const ERROR_BODY_MAX_BYTES: u64 = 16 * 1024;

/// How one registry is reached, and whatever it sends msb to. Redirects are few, none of them from TLS
/// to plain text; credentials stay with the host, port and scheme that they were meant for; and a
/// registry on the internet leads to no private address.
#[derive(Debug)]
pub(super) struct Transport {
    /// The registry's own address.
    pub(super) base: Url,
    pub(super) limits: RegistryLimits,
    proxies: Proxies,
    own: Client,
    anonymous: Trust,
    others: OnceCell<Others>,
}

/// For other hosts than the registry's.
#[derive(Debug)]
struct Others {
    client: Client,
    only_public: bool,
}

/// What to send.
#[derive(Debug, Clone)]
pub(super) struct Outgoing<'a> {
    /// For messages.
    pub(super) what: &'a str,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    /// A form to post.
    pub(super) form: Option<String>,
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
        let trust = Trust::read(&host, &files, &registries.certificate_directories)?;
        let anonymous = trust.anonymous();
        let authorities = HostAuthorities::to_reach(&base, &proxies);
        let tls = tls(&base, trust, authorities)?;
        let own = client(&base, tls, &proxies, &limits, None)?;
        Ok(Self {
            base,
            limits,
            proxies,
            own,
            anonymous,
            others: OnceCell::new(),
        })
    }

    /// The registry's host, with its port, for messages.
    pub(super) fn host(&self) -> String {
        authority(&self.base)
    }

    /// Sends a request and follows where it leads; gives whatever answer is at the end.
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
        Err(self.bad_redirect(&request, &format!("more than {limit} of them")))
    }

    async fn send_once(&self, request: &Outgoing<'_>) -> Result<Response, RegistryError> {
        let client = self.client_for(&request.url).await?;
        let method = if request.form.is_some() {
            Method::POST
        } else {
            Method::GET
        };
        let mut builder = client
            .request(method, request.url.clone())
            .headers(request.headers.clone());
        if let Some(form) = &request.form {
            let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
            builder = builder.header(CONTENT_TYPE, form_type).body(form.clone());
        }
        let sent = tokio::time::timeout(self.limits.idle, builder.send()).await;
        let stalled = |_| RegistryError::Stalled {
            what: request.what.to_owned(),
            after: self.limits.idle,
        };
        sent.map_err(stalled)?
            .map_err(|source| self.failed(request, source))
    }

    /// Where an answer leads, if it is a redirect.
    fn redirect(
        &self,
        request: &Outgoing<'_>,
        response: &Response,
    ) -> Result<Option<Url>, RegistryError> {
        let bad = |problem: &str| Err(self.bad_redirect(request, problem));
        if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let Some(location) = header(response.headers(), LOCATION.as_str()) else {
            return bad("it leads nowhere");
        };
        let Ok(next) = request.url.join(location) else {
            return bad("it leads to no address");
        };
        if request.form.is_some() {
            return bad("it would send credentials on");
        }
        match (request.url.scheme(), next.scheme()) {
            ("https", "http") => bad("it leads from TLS to plain text"),
            (_, "http" | "https") => Ok(Some(without_credentials(next))),
            _ => bad("it leads to no address of HTTP"),
        }
    }

    /// The client for an address. A registry that is itself in a private place may lead to others.
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
            // What its name means is the proxy's knowledge.
            Some(_) => private::check_literal(&self.base).is_ok(),
            None => !private::is_private_host(&self.base).await,
        };
        let trusted = self.proxies.hosts();
        let resolver = only_public.then_some(PublicResolver { trusted });
        let trust = self.anonymous.anonymous();
        let authorities = match HostAuthorities::to_reach(&self.base, &self.proxies) {
            // It may lead to TLS.
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
            return RegistryError::Unreachable {
                registry: authority(&request.url),
                source: source.without_url(),
            };
        }
        RegistryError::cut(request.what, source)
    }
}

fn tls(
    base: &Url,
    trust: Trust,
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
    resolver: Option<PublicResolver>,
) -> Result<Client, RegistryError> {
    let chosen = proxies.clone();
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(limits.connect)
        .redirect(redirect::Policy::none())
        .proxy(reqwest::Proxy::custom(move |url| chosen.choose(url)))
        .tls_backend_preconfigured(tls);
    if let Some(resolver) = resolver {
        builder = builder.dns_resolver(std::sync::Arc::new(resolver));
    }
    builder
        .build()
        .map_err(|source| RegistryError::Unreachable {
            registry: authority(base),
            source,
        })
}

/// Host and port, if that is not the scheme's own.
pub(super) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// `url` without a user's name and password, which would be sent as msb's own.
pub(super) fn without_credentials(mut url: Url) -> Url {
    // Only addresses that have a host can have these, and then they can be taken away.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host_str() == other.host_str()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// What a failing registry says about it, if it says so in the specification's words.
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

/// A header as text; `None` when it is missing or no text.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
