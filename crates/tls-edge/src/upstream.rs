//! The end of a connection that sends requests to the host.

use std::error::Error as _;
use std::sync::{Mutex, PoisonError};

use h2::Reason;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use thiserror::Error;

use crate::body::RequestBody;
use crate::refusal::Refusal;

/// The end of a connection that sends requests to the host.
pub(crate) enum Upstream {
    /// HTTP/1.1: one request after the other.
    /// There is no sender while the connection rests.
    Http1(tokio::sync::Mutex<Option<http1::SendRequest<RequestBody>>>),
    /// HTTP/2: a stream for each request.
    Http2(Mutex<http2::SendRequest<RequestBody>>),
    /// The host did not prove its name, for this reason.
    Unproved(String),
}

/// The host broke a request off. The guest sees its connection, or its stream, break off too, as it would without
/// msb, and repeats the request if it may.
#[derive(Debug, Error)]
pub(crate) enum BrokenOff {
    /// The host may have seen the request.
    #[error("the host broke the request off")]
    Host(#[source] hyper::Error),
    /// The host takes no more requests on this connection, and has not seen this one. Clients send it again on another
    /// connection, whatever its method is.
    #[error("the host accepts no further request on this connection")]
    Unsent(#[source] h2::Error),
}

/// A reason why a request has no answer of the host's.
#[derive(Debug)]
pub(crate) enum Failure {
    /// msb answers in place of the host.
    Refused(Refusal),
    /// The host broke it off.
    BrokenOff(BrokenOff),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Upstream {
    /// Returns the end that sends over HTTP/1.1, and rests.
    pub(crate) fn http1() -> Self {
        Self::Http1(tokio::sync::Mutex::default())
    }

    /// Begins HTTP/1.1, or rests if there is no sender.
    pub(crate) async fn set(&self, next: Option<http1::SendRequest<RequestBody>>) {
        if let Self::Http1(sender) = self {
            *sender.lock().await = next;
        }
    }

    /// Returns the end that sends over HTTP/2.
    pub(crate) fn http2(sender: http2::SendRequest<RequestBody>) -> Self {
        Self::Http2(Mutex::new(sender))
    }

    /// Sends a request, and waits for the head of its answer.
    ///
    /// # Errors
    ///
    /// Fails if there is no answer: msb answers if it is the first request of its connection, or was not sent.
    pub(crate) async fn send(
        &self,
        request: Request<RequestBody>,
        is_first: bool,
    ) -> Result<Response<Incoming>, Failure> {
        match self {
            Self::Unproved(reason) => Err(Refusal::Unproved(reason.clone()).into()),
            Self::Http1(sender) => {
                let mut sender = sender.lock().await;
                let Some(sender) = sender.as_mut() else {
                    return Err(Refusal::Unanswered.into());
                };
                let sent = match sender.ready().await {
                    Ok(()) => sender.send_request(request).await,
                    Err(error) => Err(error),
                };
                sent.map_err(|error| broken_off(error, is_first))
            }
            Self::Http2(sender) => {
                let sender = || {
                    sender
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .clone()
                };
                let sent = sender().try_send_request(request).await;
                sent.map_err(|error| {
                    let is_unsent = error.message().is_some() || is_unseen(error.error());
                    // The reason of a reset goes on to the guest.
                    Failure::BrokenOff(if is_unsent {
                        BrokenOff::Unsent(Reason::REFUSED_STREAM.into())
                    } else {
                        BrokenOff::Host(error.into_error())
                    })
                })
            }
        }
    }
}

/// Returns true if a request over HTTP/2 failed because the host said that it had not looked at it: its stream comes after
/// the last one that the host named when it announced the end of the connection.
fn is_unseen(error: &hyper::Error) -> bool {
    let source = error.source();
    let source = source.and_then(|source| source.downcast_ref::<h2::Error>());
    source.is_some_and(|error| error.is_go_away() && error.is_remote())
}

/// Returns the failure of a request over HTTP/1.1. A host may close a connection between two requests: the guest
/// repeats the second one only if its own connection is closed too.
fn broken_off(error: hyper::Error, is_first: bool) -> Failure {
    if error.is_parse() {
        Failure::Refused(Refusal::Malformed)
    } else if is_first {
        Failure::Refused(Refusal::Unanswered)
    } else {
        Failure::BrokenOff(BrokenOff::Host(error))
    }
}
