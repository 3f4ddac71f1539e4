//! The requests of an ended connection: checked, given their values, sent to the host; and its answers, searched.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderValue, UPGRADE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, StatusCode, Uri, Version, request, response, uri};
use hyper::body::{Body as _, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::upgrade::OnUpgrade;
use msb_secrets::SecretName;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::body::{AnswerBody, RequestBody};
use crate::check::{authority_of, check};
use crate::control::Control;
use crate::exchanges::{Exchanges, Ongoing};
use crate::headers;
use crate::limits::{FIELDS_MAX, TURN_TIMEOUT};
use crate::record::{Record, Reports};
use crate::reflect::{Reflected, Watched};
use crate::refusal::{DeniedRequest, Refusal};
use crate::settings::{Admission, Destination};
use crate::upgrade::{Changed, has_token, wanted_protocols};
use crate::upstream::{BrokenOff, Failure, Upstream};
use crate::values::{Values, WAIT};
use crate::watch::Watch;

/// The rules and the values of a connection.
pub(crate) struct Terms {
    /// The name and port of the host.
    pub(crate) destination: Arc<Destination>,
    /// The values of the secrets.
    pub(crate) values: Values,
    /// The permits to be active.
    pub(crate) active: Arc<Semaphore>,
}

/// The requests of one connection and their answers.
pub(crate) struct Exchange {
    terms: Terms,
    /// The host as requests name it.
    authority: String,
    upstream: Upstream,
    control: Arc<Control>,
    exchanges: Arc<Exchanges>,
    reports: Reports,
    /// The values that the answers are searched for; `None` if the host has no secrets.
    watch: Option<Watch>,
    /// The secret whose value was placed last: what the host compresses from then on is withheld.
    placed: Mutex<Option<SecretName>>,
    change: Mutex<Option<Changed>>,
    has_answered: AtomicBool,
}

/// The parts of a request that decide about its answer.
struct Asked {
    has_protocols: bool,
    /// A secret whose value the request, or an earlier one of the connection, had; `None` if none had one.
    secret: Option<SecretName>,
    is_h2: bool,
}

/// Answers a request of the guest, which is under way from now on.
///
/// # Errors
///
/// Fails if the host broke it off.
pub(crate) async fn answer(
    exchange: Arc<Exchange>,
    request: Request<Incoming>,
    mut ongoing: Ongoing,
) -> Result<Response<AnswerBody>, BrokenOff> {
    let (head, body) = request.into_parts();
    let is_h2 = head.version == Version::HTTP_2;
    if body.is_end_stream() {
        ongoing.end_request();
    }
    // A connection in HTTP/1.1 has the permit before its head is read.
    let has_turn = !is_h2 || exchange.await_turn(&mut ongoing).await;
    let name = &exchange.terms.destination.name;
    let record = Record::new(&head, name, exchange.reports.clone(), ongoing);
    let forwarded = if has_turn {
        exchange.forward(head, body, &record).await
    } else {
        Err(Refusal::Busy.into())
    };
    let answer = match forwarded {
        Ok(answer) => answer,
        Err(Failure::BrokenOff(error)) => {
            if matches!(error, BrokenOff::Unsent(_)) {
                exchange.control.close();
            }
            return Err(error);
        }
        Err(Failure::Refused(refusal)) => {
            if refusal.closes() && is_h2 {
                exchange.control.close();
            }
            refusal.answer(&exchange.authority, is_h2, Arc::clone(&record))
        }
    };
    if !record.is_allowed() {
        // The host has nothing to answer.
        record.ongoing().end_answer();
    }
    record.answer(answer.status());
    exchange.has_answered.store(true, Ordering::Relaxed);
    Ok(answer)
}

impl Exchange {
    /// Returns the exchange of a connection that has no request yet.
    pub(crate) fn new(
        terms: Terms,
        upstream: Upstream,
        control: Arc<Control>,
        reports: Reports,
    ) -> Self {
        Self {
            authority: authority_of(&terms.destination),
            watch: Watch::new(&terms.values, &terms.destination),
            terms,
            upstream,
            control,
            exchanges: Arc::default(),
            reports,
            placed: Mutex::default(),
            change: Mutex::default(),
            has_answered: AtomicBool::new(false),
        }
    }

    /// Returns the signals between the ends of the connection.
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// Returns the requests that are under way.
    pub(crate) fn exchanges(&self) -> &Arc<Exchanges> {
        &self.exchanges
    }

    /// Returns the permits to be active.
    pub(crate) fn active(&self) -> &Arc<Semaphore> {
        &self.terms.active
    }

    /// Returns the end that sends to the host.
    pub(crate) fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Waits until a stream may be active, for a bounded time. Returns false if it may not.
    async fn await_turn(&self, ongoing: &mut Ongoing) -> bool {
        let permit = Arc::clone(self.active()).acquire_owned();
        let Ok(Ok(permit)) = timeout(TURN_TIMEOUT, permit).await else {
            return false;
        };
        ongoing.keep(permit);
        true
    }

    /// Takes the change of protocol that was agreed on, if there is one.
    pub(crate) fn take_change(&self) -> Option<Changed> {
        lock(&self.change).take()
    }

    async fn forward(
        &self,
        mut head: request::Parts,
        body: Incoming,
        record: &Arc<Record>,
    ) -> Result<Response<AnswerBody>, Failure> {
        check(&head, &self.terms.destination)?;
        self.admit(&head)?;
        let is_h2 = head.version == Version::HTTP_2;
        let can_change = head.extensions.remove::<OnUpgrade>().is_some();
        let protocols = wanted_protocols(&head.headers).filter(|_| can_change);
        headers::clean_request(&mut head.headers);
        if self.terms.destination.is_narrow() {
            headers::remove_overrides(&mut head.headers);
        }
        let secrets = self.place(&mut head, record).await?;
        self.address(&mut head, is_h2)?;
        headers::set_length(&mut head.headers, body.size_hint().exact(), is_h2);
        let has_protocols = protocols.is_some();
        if let Some(protocols) = protocols {
            headers::set_protocols(&mut head.headers, protocols);
        }
        let secret = lock(&self.placed).clone();
        record.allow(secrets);
        self.control.await_change(has_protocols);
        let body = RequestBody::new(body, Arc::clone(record));
        let request = Request::from_parts(head, body);
        let is_first = !self.has_answered.load(Ordering::Relaxed);
        let answer = self.upstream.send(request, is_first).await?;
        let asked = Asked {
            has_protocols,
            secret,
            is_h2,
        };
        self.accept(answer, &asked, record)
    }

    /// Checks a request against the rules of its host.
    fn admit(&self, head: &request::Parts) -> Result<(), Refusal> {
        if let Upstream::Unproved(reason) = &self.upstream {
            return Err(Refusal::Unproved(reason.clone()));
        }
        let path = head.uri.path();
        match self.terms.destination.admission(&head.method, path) {
            Admission::Allowed => Ok(()),
            Admission::Malformed(reason) => Err(Refusal::Path(reason)),
            Admission::Denied => Err(Refusal::Rule(DeniedRequest {
                method: head.method.to_string(),
                path: path.to_owned(),
            })),
        }
    }

    /// Places the values in a request, which it may have to wait for. Returns the names of their secrets.
    async fn place(
        &self,
        head: &mut request::Parts,
        record: &Record,
    ) -> Result<Vec<SecretName>, Refusal> {
        let destination = &self.terms.destination;
        let mut values = BTreeMap::new();
        let deadline = Instant::now() + WAIT;
        for name in destination.wanted(head) {
            let value = self.terms.values.wait(&name, deadline).await;
            values.insert(name, value.map_err(Refusal::NoValue)?);
        }
        let placed = destination.place(head, &values);
        let placed = placed.map_err(Refusal::NotPlaced)?;
        let secrets = placed.secrets();
        for misplaced in placed.misplaced {
            record.report_misplaced(misplaced.secret, misplaced.place);
        }
        if self.watch.is_some() {
            headers::ask_for_plain(&mut head.headers);
        }
        if let Some(last) = secrets.last() {
            *lock(&self.placed) = Some(last.clone());
        }
        Ok(secrets)
    }

    /// Writes the host and the URI of a request anew, as its version of HTTP has them.
    fn address(&self, head: &mut request::Parts, is_h2: bool) -> Result<(), Refusal> {
        let malformed = || Refusal::Authority;
        let mut parts = uri::Parts::default();
        let path = head.uri.path_and_query().cloned();
        parts.path_and_query = Some(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
        if is_h2 {
            let authority = Authority::try_from(self.authority.as_str());
            parts.authority = Some(authority.map_err(|_| malformed())?);
            parts.scheme = Some(Scheme::HTTPS);
            head.headers.remove(HOST);
        } else {
            let host = HeaderValue::from_str(&self.authority);
            head.headers.insert(HOST, host.map_err(|_| malformed())?);
            head.version = Version::HTTP_11;
        }
        head.uri = Uri::from_parts(parts).map_err(|_| malformed())?;
        Ok(())
    }

    /// Returns the answer of the host as it is passed on.
    fn accept(
        &self,
        answer: Response<Incoming>,
        asked: &Asked,
        record: &Arc<Record>,
    ) -> Result<Response<AnswerBody>, Failure> {
        let (mut head, body) = answer.into_parts();
        let can_change = head.extensions.remove::<OnUpgrade>().is_some();
        let is_change = head.status == StatusCode::SWITCHING_PROTOCOLS;
        if !is_change {
            self.control.await_change(false);
        }
        if let Some(watch) = &self.watch
            && let Err(found) = search(&head, &watch.now())
        {
            record.report_reflected(found.secret.clone());
            return Err(Refusal::Reflected(found.secret).into());
        }
        if let Some(secret) = &asked.secret
            && headers::is_encoded(&head.headers)
            && !body.is_end_stream()
        {
            record.report_encoded(secret.clone());
            return Err(Refusal::Encoded(secret.clone()).into());
        }
        if is_change {
            let answer = can_change.then(|| self.change(head, asked, record));
            return answer.flatten().ok_or_else(|| Refusal::Malformed.into());
        }
        if !headers::is_plainly_transferred(&head.headers) || head.headers.len() > FIELDS_MAX {
            return Err(Refusal::Malformed.into());
        }
        let is_last = has_token(&head.headers, CONNECTION, "close");
        headers::clean_answer(&mut head.headers);
        if is_last && !asked.is_h2 {
            let close = HeaderValue::from_static("close");
            head.headers.insert(CONNECTION, close);
        }
        // A length that is not that of the body would end it early.
        if body.size_hint().exact().is_none() {
            head.headers.remove(CONTENT_LENGTH);
        }
        head.version = version(asked.is_h2);
        let record = Arc::clone(record);
        let body = match &self.watch {
            None => AnswerBody::host(body, record),
            Some(watch) => {
                AnswerBody::searched(body, watch.scan(), Arc::clone(&self.control), record)
            }
        };
        Ok(Response::from_parts(head, body))
    }

    /// Returns the answer that changes the protocol; `None` if the guest did not ask for it.
    fn change(
        &self,
        mut head: response::Parts,
        asked: &Asked,
        record: &Arc<Record>,
    ) -> Option<Response<AnswerBody>> {
        if !asked.has_protocols {
            return None;
        }
        let protocols = head.headers.get(UPGRADE).cloned()?;
        let changed = Changed {
            watch: self.watch.clone(),
            record: Arc::clone(record),
        };
        *lock(&self.change) = Some(changed);
        headers::clean_answer(&mut head.headers);
        headers::set_protocols(&mut head.headers, protocols);
        head.version = version(asked.is_h2);
        let body = AnswerBody::empty(Arc::clone(record));
        Some(Response::from_parts(head, body))
    }
}

/// Searches the head of an answer for values.
fn search(head: &response::Parts, watched: &Watched) -> Result<(), Reflected> {
    if let Some(reason) = head.extensions.get::<ReasonPhrase>() {
        watched.text(reason.as_bytes())?;
    }
    watched.headers(&head.headers)
}

fn version(is_h2: bool) -> Version {
    if is_h2 {
        Version::HTTP_2
    } else {
        Version::HTTP_11
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
