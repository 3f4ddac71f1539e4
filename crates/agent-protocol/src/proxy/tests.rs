use std::collections::VecDeque;

use hyper::body::Body as HttpBody;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::DuplexStream;

use super::*;

const ORIGIN: &str = "http://sandbox";

/// A body of these frames, which then ends or does not.
struct Frames {
    frames: VecDeque<Frame<Bytes>>,
    ends: bool,
}

impl HttpBody for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.frames.pop_front() {
            None if !self.ends => Poll::Pending,
            frame => Poll::Ready(frame.map(Ok)),
        }
    }
}

fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    let lines = lines.iter();
    let line = |(name, value): &(&'static str, &'static str)| {
        (
            (*name).parse().expect("a name"),
            HeaderValue::from_static(value),
        )
    };
    lines.map(line).collect()
}

/// Returns an answer of an agent with headers and trailers that gRPC does not need.
fn answer(frames: impl IntoIterator<Item = Frame<Bytes>>, ends: bool) -> Response<Body> {
    let frames = frames.into_iter().collect();
    let mut answer = Response::new(Body::new(Frames { frames, ends }));
    answer.headers_mut().extend(headers(&[("x-guest", "1")]));
    answer
}

fn data(bytes: &'static [u8]) -> Frame<Bytes> {
    Frame::data(Bytes::from_static(bytes))
}

/// Serves a stream with the same answer to every request.
fn serve<F>(stream: DuplexStream, answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static)
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let service = service_fn(move |request| {
        let answer = answer(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    tokio::spawn(server.serve_connection(TokioIo::new(stream), service));
}

async fn connect(stream: DuplexStream) -> Connection {
    Connection::open(stream, None).await.expect("connected").0
}

fn forever() -> Silence {
    Box::pin(std::future::pending())
}

fn at_once() -> Silence {
    Box::pin(async { Status::deadline_exceeded("silent") })
}

/// Returns what a client of a proxy gets from an agent that answers so: the headers, the data, and
/// the trailers.
async fn passed<F>(
    agent: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    silence: fn() -> Silence,
) -> (HeaderMap, Vec<u8>, Option<HeaderMap>)
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let (host, guest) = tokio::io::duplex(1 << 16);
    serve(guest, agent);
    let agent = connect(host).await;
    let (client, server) = tokio::io::duplex(1 << 16);
    serve(server, move |request| {
        let passage = Passage {
            agent: agent.clone(),
            unanswered: silence(),
            silent: silence(),
        };
        passage.pass(ORIGIN, request)
    });
    let mut client = connect(client).await;
    poll_fn(|context| client.poll_ready(context))
        .await
        .expect("ready");
    let mut request = Request::new(Body::new(Frames {
        frames: VecDeque::from([data(b"in"), data(b"")]),
        ends: true,
    }));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static("http://client/msb.v1.Sandbox/Stat");
    request.headers_mut().extend(headers(&[("x-client", "1")]));
    let answer = client.call(request).await.expect("answered");
    assert_eq!(answer.status(), StatusCode::OK);
    let (parts, mut body) = answer.into_parts();
    let (mut bytes, mut trailers) = (Vec::new(), None);
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        match frame.expect("no error").into_data() {
            Ok(data) => bytes.extend_from_slice(&data),
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
    }
    (parts.headers, bytes, trailers)
}

fn status(headers: Option<&HeaderMap>) -> (i32, String) {
    let status = headers.and_then(Status::from_header_map).expect("a status");
    (status.code().into(), status.message().to_owned())
}

#[tokio::test]
async fn data_and_status_pass_and_metadata_does_not() {
    let (headers, data, trailers) = passed(
        async |_| {
            let ended = headers(&[
                ("grpc-status", "5"),
                ("grpc-message", "gone"),
                ("x-guest", "1"),
            ]);
            answer([data(b"ab"), data(b"c"), Frame::trailers(ended)], true)
        },
        forever,
    )
    .await;
    assert_eq!(headers.get("content-type"), Some(&GRPC));
    assert!(!headers.contains_key("x-guest"), "{headers:?}");
    assert_eq!(data, b"abc");
    let trailers = trailers.expect("trailers");
    assert_eq!(status(Some(&trailers)), (5, "gone".to_owned()));
    assert!(!trailers.contains_key("x-guest"), "{trailers:?}");
}

#[tokio::test]
async fn the_agent_gets_the_path_and_no_metadata() {
    let (_, data, _) = passed(
        async |request: Request<Incoming>| {
            let names = request.headers().keys().map(ToString::to_string);
            let mut names: Vec<_> = names.collect();
            names.sort();
            let seen = format!("{} {}", request.uri(), names.join(" "));
            answer([Frame::data(Bytes::from(seen))], true)
        },
        forever,
    )
    .await;
    let seen = String::from_utf8(data).expect("text");
    assert_eq!(seen, "http://sandbox/msb.v1.Sandbox/Stat content-type te");
}

#[tokio::test]
async fn no_frame_of_inputs_is_empty_but_the_end() {
    let (_, data, _) = passed(
        async |request: Request<Incoming>| {
            let (mut inputs, mut lengths) = (request.into_body(), String::new());
            while let Some(input) = poll_fn(|cx| Pin::new(&mut inputs).poll_frame(cx)).await {
                let input = input.expect("no error");
                lengths += &format!("{} ", input.data_ref().map_or(0, Bytes::len));
            }
            answer([Frame::data(Bytes::from(lengths))], true)
        },
        forever,
    )
    .await;
    assert_eq!(data, b"2 0 ");
}

#[tokio::test]
async fn an_error_without_an_answer_passes() {
    let (headers, data, _) = passed(
        async |_| {
            let mut refusal = answer([], true);
            let lines = [("grpc-status", "9"), ("grpc-message", "no")];
            refusal.headers_mut().extend(headers(&lines));
            refusal
        },
        forever,
    )
    .await;
    assert_eq!(status(Some(&headers)), (9, "no".to_owned()));
    assert!(!headers.contains_key("x-guest"), "{headers:?}");
    assert_eq!(data, b"");
}

#[tokio::test]
async fn an_agent_that_speaks_no_grpc_is_an_error() {
    let other = async |_| {
        let mut other = answer([data(b"<html>")], true);
        *other.status_mut() = StatusCode::NOT_FOUND;
        other
    };
    let (headers, data, _) = passed(other, forever).await;
    let (code, message) = status(Some(&headers));
    assert_eq!((code, data), (2, Vec::new()));
    assert!(message.contains("HTTP status 404"), "{message}");
}

#[tokio::test]
async fn a_silent_agent_ends_the_call() {
    let (headers, _, _) = passed(async |_| std::future::pending().await, at_once).await;
    assert_eq!(status(Some(&headers)), (4, "silent".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_falls_silent_ends_the_answer() {
    let (_, _, trailers) = passed(async |_| answer([data(b"ab")], false), soon).await;
    assert_eq!(status(trailers.as_ref()), (4, "silent".to_owned()));
}

/// A silence that is long enough for an answer to begin.
fn soon() -> Silence {
    Box::pin(async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        Status::deadline_exceeded("silent")
    })
}
