//! The calls of clients that a supervisor passes on to the agent, and the answers that it passes back.
//!
//! Messages pass as bytes: neither side of the proxy decodes them, and flow control bounds what is
//! on the way. Headers do not pass: each side gets those that gRPC over HTTP/2 needs, so a guest
//! adds nothing to what clients read as metadata.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use hyper::body::{Body as _, Frame, Incoming};
use tonic::body::Body;
use tonic::{Status, async_trait};
use tower_service::Service as _;

use crate::{Bytes, Connection, ConnectionError};

/// The calls of the service `Sandbox` that a supervisor passes on. All others of the service are its
/// own: it answers them itself, or makes them alone.
pub(crate) const PASSED_ON: [&str; 18] = [
    "Accept",
    "Carry",
    "Connect",
    "Exec",
    "Freeze",
    "GetArchive",
    "List",
    "MakeDirectory",
    "PutArchive",
    "ReadFile",
    "Remove",
    "Rename",
    "Resize",
    "SetMode",
    "Signal",
    "Stat",
    "Stats",
    "WriteFile",
];

/// The calls of the service `Containers`, all of which a supervisor passes on.
pub(crate) const CONTAINERS_PASSED_ON: [&str; 12] = [
    "Create", "Delete", "Exec", "Pause", "Pids", "Resize", "Resume", "Signal", "Start", "Stats",
    "Update", "Watch",
];

/// The media type of gRPC, from the specification of gRPC over HTTP/2.
const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");

/// A wait that ends once the agent has been silent for too long, with the error that the client gets.
pub type Silence = Pin<Box<dyn Future<Output = Status> + Send>>;

/// A server between clients and an agent.
#[async_trait]
pub trait Proxy: Send + Sync + 'static {
    /// Waits until a call may be made, and returns the way to the agent. `call` is its name in the
    /// service `Sandbox` or `Containers`.
    async fn passage(&self, call: &str) -> Passage;
}

/// The way of a call to the agent.
pub struct Passage {
    /// The connection with the agent.
    pub agent: Connection,
    /// The end of the wait for the beginning of the answer.
    pub unanswered: Silence,
    /// The end of the wait for the rest of the answer. It is polled only while there is nothing to
    /// pass back.
    pub silent: Silence,
}

impl Passage {
    /// Makes a call for a client, and returns the answer.
    pub(crate) async fn pass(self, origin: &str, request: Request<Incoming>) -> Response<Body> {
        let answer = async {
            let mut agent = self.agent;
            poll_fn(|context| agent.poll_ready(context)).await?;
            agent.call(asked(origin, request)).await
        };
        tokio::select! {
            biased;
            answer = answer => answered(answer, self.silent),
            silent = self.unanswered => silent.into_http(),
        }
    }
}

/// Returns the request for the agent.
fn asked(origin: &str, request: Request<Incoming>) -> Request<Body> {
    let path = request.uri().path();
    let uri = Uri::try_from(format!("{origin}{path}")).unwrap_or_default();
    let mut asked = Request::new(Body::new(Inputs(request.into_body())));
    *asked.method_mut() = Method::POST;
    *asked.uri_mut() = uri;
    let headers = asked.headers_mut();
    headers.insert(header::CONTENT_TYPE, GRPC);
    headers.insert(header::TE, HeaderValue::from_static("trailers"));
    asked
}

/// Returns the answer for the client.
fn answered(
    answer: Result<Response<Incoming>, ConnectionError>,
    silence: Silence,
) -> Response<Body> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Status::from_error(Box::new(error)).into_http(),
    };
    if answer.status() != StatusCode::OK {
        let status = format!(
            "the guest's agent answered with HTTP status {}",
            answer.status()
        );
        return Status::unknown(status).into_http();
    }
    // An answer that is nothing but an error has its status in the headers.
    if let Some(status) = Status::from_header_map(answer.headers()) {
        return without_metadata(&status).into_http();
    }
    let mut passed = Response::new(Body::new(Answers {
        body: answer.into_body(),
        silence: Some(silence),
    }));
    passed.headers_mut().insert(header::CONTENT_TYPE, GRPC);
    passed
}

/// Returns a status of the agent without the metadata that a guest may have added.
fn without_metadata(status: &Status) -> Status {
    Status::new(status.code(), status.message())
}

/// Returns the trailers that end an answer.
fn trailers(status: &Status) -> Frame<Bytes> {
    let mut trailers = HeaderMap::new();
    // It fails for a message that is no header, which this one was made of.
    if status.add_header(&mut trailers).is_err() {
        trailers.insert("grpc-status", HeaderValue::from_static("2"));
    }
    Frame::trailers(trailers)
}

/// Returns the next frame that is not empty. The end of a body without trailers is an empty frame, too, and
/// a peer gives a connection up on which it gets more than some frames that are empty and no end.
fn poll_full_frame(
    body: &mut Incoming,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
    loop {
        let frame = ready!(Pin::new(&mut *body).poll_frame(context));
        let data = frame
            .as_ref()
            .and_then(|frame| frame.as_ref().ok()?.data_ref());
        if data.is_none_or(|data| !data.is_empty()) {
            return Poll::Ready(frame);
        }
    }
}

/// A client's inputs. An error ends them: the agent finds what was cut, and the client's
/// disconnection is noticed at the answers.
struct Inputs(Incoming);

impl hyper::body::Body for Inputs {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = ready!(poll_full_frame(&mut self.0, context));
        let frame = frame.and_then(Result::ok).filter(Frame::is_data);
        Poll::Ready(frame.map(Ok))
    }
}

/// The agent's answers, until it has been silent for too long.
struct Answers {
    body: Incoming,
    /// `None` once the answers have ended.
    silence: Option<Silence>,
}

impl Answers {
    /// Returns the next frame; `None` after the last one.
    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        silence: &mut Silence,
    ) -> Poll<Option<Frame<Bytes>>> {
        Poll::Ready(match poll_full_frame(&mut self.body, context) {
            Poll::Ready(Some(Ok(frame))) => Some(plain(frame)),
            Poll::Ready(Some(Err(error))) => Some(trailers(&Status::from_error(Box::new(error)))),
            Poll::Ready(None) => None,
            Poll::Pending => Some(trailers(&ready!(silence.as_mut().poll(context)))),
        })
    }
}

/// Returns a frame of an answer with nothing but data, or a status.
fn plain(frame: Frame<Bytes>) -> Frame<Bytes> {
    let frame = match frame.into_data() {
        Ok(data) => return Frame::data(data),
        Err(frame) => frame,
    };
    let status = frame.trailers_ref().and_then(Status::from_header_map);
    let status = status.unwrap_or_else(|| Status::unknown("the guest's agent sent no status"));
    trailers(&without_metadata(&status))
}

impl hyper::body::Body for Answers {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(mut silence) = self.silence.take() else {
            return Poll::Ready(None);
        };
        let next = self.poll_next(context, &mut silence);
        let goes_on = match &next {
            Poll::Ready(frame) => frame.as_ref().is_some_and(Frame::is_data),
            Poll::Pending => true,
        };
        self.silence = goes_on.then_some(silence);
        next.map(|frame| frame.map(Ok))
    }
}

#[cfg(test)]
mod tests;
