//! The record of one request, which is reported once: when both bodies have ended.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{StatusCode, Version, request};
use msb_secrets::SecretName;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::event::{EdgeEvent, HttpRecord, HttpVerdict, logged_host, logged_method, logged_path};
use crate::exchanges::Ongoing;

/// The events of one connection, on their way to the [`Events`](crate::event::Events) of its network.
///
/// The tasks of a connection outlive no borrow of it, so they send what they have to report. The queue is bounded
/// by the number of streams: the future that takes from it is also the one that accepts requests.
#[derive(Debug, Clone)]
pub(crate) struct Reports(mpsc::UnboundedSender<EdgeEvent>);

impl Reports {
    /// Returns a queue of events: its sender and its receiver.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<EdgeEvent>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    fn send(&self, event: EdgeEvent) {
        // The receiver is gone if the connection was aborted, and its network with it.
        let _ = self.0.send(event);
    }
}

/// The record of one request. It is reported when the last part of the exchange is dropped.
#[derive(Debug)]
pub(crate) struct Record {
    reports: Reports,
    began: Instant,
    sent: AtomicU64,
    received: AtomicU64,
    http: Mutex<HttpRecord>,
    ongoing: Ongoing,
}

impl Record {
    /// Returns the record of a request whose head was read.
    pub(crate) fn new(
        head: &request::Parts,
        host: &str,
        reports: Reports,
        ongoing: Ongoing,
    ) -> Arc<Self> {
        let is_h2 = head.version == Version::HTTP_2;
        let http = HttpRecord {
            method: logged_method(head.method.as_str()),
            host: logged_host(host),
            path: logged_path(head.uri.path()),
            query: head.uri.query().is_some(),
            status: None,
            sent: 0,
            received: 0,
            ms: 0,
            version: if is_h2 { "h2" } else { "http/1.1" }.to_owned(),
            secrets: Vec::new(),
            verdict: HttpVerdict::Denied,
        };
        Arc::new(Self {
            reports,
            began: Instant::now(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            http: Mutex::new(http),
            ongoing,
        })
    }

    /// Records that the request is sent to the host, with the values of these secrets.
    pub(crate) fn allow(&self, secrets: Vec<SecretName>) {
        let mut http = self.http();
        http.verdict = HttpVerdict::Allowed;
        http.secrets = secrets;
    }

    /// Returns the exchange that the record is of.
    pub(crate) fn ongoing(&self) -> &Ongoing {
        &self.ongoing
    }

    /// Returns true if the request is, or was, sent to the host.
    pub(crate) fn is_allowed(&self) -> bool {
        self.http().verdict == HttpVerdict::Allowed
    }

    /// Records the status of the answer.
    pub(crate) fn answer(&self, status: StatusCode) {
        self.http().status = Some(status.as_u16());
    }

    /// Adds bytes of the request's body.
    pub(crate) fn add_sent(&self, bytes: usize) {
        self.sent.fetch_add(counted(bytes), Ordering::Relaxed);
    }

    /// Adds bytes of the answer's body.
    pub(crate) fn add_received(&self, bytes: usize) {
        self.received.fetch_add(counted(bytes), Ordering::Relaxed);
    }

    /// Reports that a placeholder stood where no value is placed.
    pub(crate) fn report_misplaced(&self, secret: SecretName, place: String) {
        self.reports
            .send(EdgeEvent::SecretMisplaced { secret, place });
    }

    /// Reports that the answer holds the value of a secret.
    pub(crate) fn report_reflected(&self, secret: SecretName) {
        let (host, path) = self.place();
        self.reports
            .send(EdgeEvent::SecretReflected { secret, host, path });
    }

    /// Reports that the answer cannot be searched for the value of a secret.
    pub(crate) fn report_encoded(&self, secret: SecretName) {
        let (host, path) = self.place();
        self.reports
            .send(EdgeEvent::SecretEncoded { secret, host, path });
    }

    fn place(&self) -> (String, String) {
        let http = self.http();
        (http.host.clone(), http.path.clone())
    }

    fn http(&self) -> MutexGuard<'_, HttpRecord> {
        self.http.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let mut http = self.http().clone();
        http.sent = self.sent.load(Ordering::Relaxed);
        http.received = self.received.load(Ordering::Relaxed);
        http.ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.reports.send(EdgeEvent::Http(http));
    }
}

fn counted(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
