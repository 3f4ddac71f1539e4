//! The bodies of a request and of its answer, passed on frame by frame with their trailers.
//!
//! A body is read when its receiver takes more, so that a side that does not read stops the other.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming;
use msb_secrets::SecretName;
use thiserror::Error;

use crate::control::Control;
use crate::headers;
use crate::limits::{TRAILERS_FIELDS_MAX, TRAILERS_MAX_BYTES};
use crate::record::Record;
use crate::reflect::Reflected;
use crate::watch::LiveScan;

/// A frame of a body, or its end.
type Polled<E> = Poll<Option<Result<Frame<Bytes>, E>>>;

/// The body of a request, whose bytes are counted.
#[derive(Debug)]
pub(crate) struct RequestBody {
    incoming: Incoming,
    record: Arc<Record>,
}

impl RequestBody {
    /// Returns the body of the request that a record is of.
    pub(crate) fn new(incoming: Incoming, record: Arc<Record>) -> Self {
        Self { incoming, record }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        // The end of a body of a known length is not read on its own.
        if self.incoming.is_end_stream() {
            self.record.ongoing().end_request();
        }
    }
}

/// A reason why a request ends before its end.
#[derive(Debug, Error)]
pub(crate) enum BrokenRequest {
    /// The guest broke it off.
    #[error("the guest broke the request off")]
    Guest(#[source] hyper::Error),
    /// Its trailers are too large.
    #[error(transparent)]
    Trailers(#[from] LargeTrailers),
}

/// The trailers of a body are too large.
#[derive(Debug, Error)]
#[error("the trailers have more than {TRAILERS_FIELDS_MAX} fields or {TRAILERS_MAX_BYTES} bytes")]
pub(crate) struct LargeTrailers;

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BrokenRequest;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled<Self::Error> {
        let frame = ready!(Pin::new(&mut self.incoming).poll_frame(context));
        let frame = frame.map(|frame| {
            let frame = frame.map_err(BrokenRequest::Guest);
            frame.and_then(|frame| bounded(frame).map_err(BrokenRequest::from))
        });
        if let Some(Ok(frame)) = &frame {
            self.record.add_sent(frame.data_ref().map_or(0, Bytes::len));
        }
        if is_end(frame.as_ref()) {
            self.record.ongoing().end_request();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

/// The body of an answer.
#[derive(Debug)]
pub(crate) struct AnswerBody {
    source: Source,
    record: Arc<Record>,
}

#[derive(Debug)]
enum Source {
    Text(Full<Bytes>),
    Host(Incoming),
    Searched(Box<SearchedBody>),
}

/// A body of the host's that is searched for values.
#[derive(Debug)]
struct SearchedBody {
    incoming: Incoming,
    scan: LiveScan,
    control: Arc<Control>,
    trailers: Option<HeaderMap>,
    has_ended: bool,
    /// True once the host has broken the body off, or it was withheld.
    has_failed: bool,
}

/// A reason why an answer ends before its end.
#[derive(Debug, Error)]
pub(crate) enum BrokenBody {
    /// The host broke it off.
    #[error("the host broke the answer off")]
    Host(#[source] hyper::Error),
    /// Its trailers are too large.
    #[error(transparent)]
    Trailers(#[from] LargeTrailers),
    /// It holds the value of a secret.
    #[error("the answer holds the value of the secret {0}")]
    Reflected(SecretName),
}

impl AnswerBody {
    /// Returns the body of an answer that msb itself gives.
    pub(crate) fn text(text: String, record: Arc<Record>) -> Self {
        record.add_received(text.len());
        let source = Source::Text(Full::new(Bytes::from(text)));
        Self { source, record }
    }

    /// Returns a body of the host's, unchanged.
    pub(crate) fn host(incoming: Incoming, record: Arc<Record>) -> Self {
        let source = Source::Host(incoming);
        Self { source, record }
    }

    /// Returns a body of the host's that ends, with its connection, before the last byte of a value.
    pub(crate) fn searched(
        incoming: Incoming,
        scan: LiveScan,
        control: Arc<Control>,
        record: Arc<Record>,
    ) -> Self {
        if incoming.is_end_stream() {
            return Self::host(incoming, record);
        }
        let source = Source::Searched(Box::new(SearchedBody {
            incoming,
            scan,
            control,
            trailers: None,
            has_ended: false,
            has_failed: false,
        }));
        Self { source, record }
    }

    /// Returns no body, as the answer has that changes the protocol.
    pub(crate) fn empty(record: Arc<Record>) -> Self {
        let source = Source::Text(Full::default());
        Self { source, record }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BrokenBody;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled<Self::Error> {
        let this = &mut *self;
        match &mut this.source {
            Source::Text(text) => Pin::new(text)
                .poll_frame(context)
                .map_err(|never| match never {}),
            Source::Host(incoming) => {
                let frame = ready!(Pin::new(incoming).poll_frame(context));
                let frame = frame.map(|frame| {
                    let frame = frame.map_err(BrokenBody::Host);
                    frame.and_then(|frame| bounded(frame).map_err(BrokenBody::from))
                });
                pass(&this.record, frame.as_ref());
                Poll::Ready(frame)
            }
            Source::Searched(body) => {
                let frame = ready!(body.poll(context));
                if let Some(Err(error)) = &frame {
                    body.end(error, &this.record);
                }
                if !body.has_failed {
                    pass(&this.record, frame.as_ref());
                }
                Poll::Ready(frame)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Text(text) => text.is_end_stream(),
            Source::Host(incoming) => incoming.is_end_stream(),
            Source::Searched(body) => body.has_ended,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Text(text) => text.size_hint(),
            Source::Host(incoming) => incoming.size_hint(),
            // hyper asks once, before the first frame; the same bytes go out later.
            Source::Searched(body) => body.incoming.size_hint(),
        }
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        let has_ended = match &self.source {
            Source::Text(_) => false,
            Source::Host(incoming) => incoming.is_end_stream(),
            Source::Searched(body) => {
                !body.has_failed && (body.has_ended || body.incoming.is_end_stream())
            }
        };
        if has_ended {
            self.record.ongoing().end_answer();
        }
    }
}

impl SearchedBody {
    fn poll(&mut self, context: &mut Context<'_>) -> Polled<BrokenBody> {
        if let Some(trailers) = self.trailers.take() {
            self.has_ended = true;
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        while !self.has_ended {
            let next = match ready!(Pin::new(&mut self.incoming).poll_frame(context)) {
                Some(Ok(frame)) => self.pass(frame),
                Some(Err(error)) => Err(BrokenBody::Host(error)),
                None => {
                    self.has_ended = true;
                    Ok(data(self.scan.finish()))
                }
            };
            self.has_failed |= next.is_err();
            self.has_ended |= self.has_failed;
            if let Some(next) = next.transpose() {
                return Poll::Ready(Some(next));
            }
        }
        Poll::Ready(None)
    }

    /// Returns the part of a frame that may be passed on; `None` if all of it is held back.
    fn pass(&mut self, frame: Frame<Bytes>) -> Result<Option<Frame<Bytes>>, BrokenBody> {
        let frame = match bounded(frame)?.into_data() {
            Ok(bytes) => return Ok(data(self.scan.feed(&bytes)?)),
            Err(frame) => frame,
        };
        // HTTP has no other frames than data and trailers.
        let Ok(trailers) = frame.into_trailers() else {
            return Ok(None);
        };
        self.scan.trailers(&trailers)?;
        let Some(held) = data(self.scan.finish()) else {
            self.has_ended = true;
            return Ok(Some(Frame::trailers(trailers)));
        };
        self.trailers = Some(trailers);
        Ok(Some(held))
    }

    /// Ends the connection if the body holds a value: all of its later answers would be suspect too.
    fn end(&self, error: &BrokenBody, record: &Record) {
        if let BrokenBody::Reflected(secret) = error {
            record.report_reflected(secret.clone());
            self.control.end();
        }
    }
}

impl From<Reflected> for BrokenBody {
    fn from(found: Reflected) -> Self {
        Self::Reflected(found.secret)
    }
}

/// Returns a frame, unless it is one of trailers that are too large.
fn bounded(frame: Frame<Bytes>) -> Result<Frame<Bytes>, LargeTrailers> {
    let is_large = frame
        .trailers_ref()
        .is_some_and(|trailers| headers::exceed(trailers, TRAILERS_FIELDS_MAX, TRAILERS_MAX_BYTES));
    if is_large {
        return Err(LargeTrailers);
    }
    Ok(frame)
}

fn data(bytes: Bytes) -> Option<Frame<Bytes>> {
    (!bytes.is_empty()).then(|| Frame::data(bytes))
}

/// Counts a frame of an answer, and notes its end.
fn pass(record: &Record, frame: Option<&Result<Frame<Bytes>, BrokenBody>>) {
    if let Some(Ok(frame)) = frame {
        record.add_received(frame.data_ref().map_or(0, Bytes::len));
    }
    if is_end(frame) {
        record.ongoing().end_answer();
    }
}

/// Returns true if nothing follows: trailers are the last frame.
fn is_end<E>(frame: Option<&Result<Frame<Bytes>, E>>) -> bool {
    match frame {
        Some(Ok(frame)) => frame.is_trailers(),
        Some(Err(_)) => false,
        None => true,
    }
}
