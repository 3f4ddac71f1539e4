//! Bodies: long ones, ones that come event by event, ones with trailers.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Method, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::guest::{self, Guest};
use crate::lab::{Lab, within};
use crate::upstream::{TestBody, frames, full, handler};

/// The bytes that a long body repeats. Their number is no multiple of a frame's.
const PATTERN_BYTES: usize = 65_537;
/// The length of a long upload, and of a long download, which is searched.
const UPLOAD_BYTES: usize = 64 << 20;
const DOWNLOAD_BYTES: usize = 8 << 20;

fn pattern() -> Bytes {
    let bytes = (0..PATTERN_BYTES).map(|index| u8::try_from(index * 7 % 251).unwrap());
    bytes.collect()
}

/// A body of unknown length that repeats the pattern.
struct LongBody {
    pattern: Bytes,
    left: usize,
}

impl Body for LongBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let length = self.left.min(PATTERN_BYTES);
        self.left -= length;
        let frame = Frame::data(self.pattern.slice(..length));
        Poll::Ready((length > 0).then_some(Ok(frame)))
    }
}

fn long(left: usize) -> TestBody {
    let pattern = pattern();
    LongBody { pattern, left }.boxed_unsync()
}

/// Reads a body, and returns its length if it repeats the pattern.
async fn length_of(mut body: Incoming) -> Result<usize, String> {
    let pattern = pattern();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| error.to_string())?;
        let mut data = frame.into_data().unwrap_or_default();
        while !data.is_empty() {
            let at = length % PATTERN_BYTES;
            let part = data.split_to(data.len().min(PATTERN_BYTES - at));
            if part != pattern.slice(at..at + part.len()) {
                return Err(format!("other bytes at {length}"));
            }
            length += part.len();
        }
    }
    Ok(length)
}

#[tokio::test]
async fn a_long_upload_arrives_unchanged() {
    let lab = Lab::new(handler(|request| async move {
        let length = length_of(request.into_body()).await;
        Response::new(full(format!("{length:?}")))
    }))
    .await;
    for guest in lab.guests().await {
        let request = with_token(&guest, &lab, "/")
            .body(long(UPLOAD_BYTES))
            .unwrap();
        let answer = guest.send(request).await.unwrap();
        assert_eq!(guest::text(answer).await, format!("Ok({UPLOAD_BYTES})"));
        guest.close().await;
    }
    let sent: Vec<_> = lab.log.http().iter().map(|record| record.sent).collect();
    assert_eq!(sent, [u64::try_from(UPLOAD_BYTES).unwrap(); 2]);
    let seen = lab.upstream.seen();
    assert_eq!(seen[0].header("transfer-encoding"), "chunked");
    assert!(
        seen.iter()
            .all(|request| !request.headers.contains_key("content-length"))
    );
}

#[tokio::test]
async fn a_long_download_arrives_unchanged() {
    let lab = Lab::new(handler(|_| async { Response::new(long(DOWNLOAD_BYTES)) })).await;
    for guest in lab.guests().await {
        let answer = guest.get_with("/", &lab).await.unwrap();
        let length = within(length_of(answer.into_body())).await;
        assert_eq!(length, Ok(DOWNLOAD_BYTES));
        guest.close().await;
    }
    let records = lab.log.http();
    let received: Vec<_> = records.iter().map(|record| record.received).collect();
    assert_eq!(received, [u64::try_from(DOWNLOAD_BYTES).unwrap(); 2]);
}

#[tokio::test]
async fn a_chunked_body_of_get_is_sent() {
    let lab = Lab::new(handler(|request| async move {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        Response::new(full(body))
    }))
    .await;
    for guest in lab.guests().await {
        let (sender, body) = frames();
        let request = guest
            .request(Method::GET, "/")
            .header("transfer-encoding", "chunked");
        let send = guest.send(request.body(body).unwrap());
        let (answer, ()) = tokio::join!(send, async {
            within(sender.send(Frame::data(Bytes::from("query"))))
                .await
                .unwrap();
            drop(sender);
        });
        assert_eq!(guest::text(answer.unwrap()).await, "query");
    }
}

#[tokio::test]
async fn events_arrive_one_by_one() {
    let latest = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&latest);
    let lab = Lab::new(handler(move |_| {
        let (sender, body) = frames();
        *slot.lock().unwrap() = Some(sender);
        async move {
            let answer = Response::builder().header("content-type", "text/event-stream");
            answer.body(body).unwrap()
        }
    }))
    .await;
    for guest in lab.guests().await {
        let mut answer = guest.get_with("/events", &lab).await.unwrap();
        let sender = latest.lock().unwrap().take().unwrap();
        for number in 0..20 {
            // The next event is sent once this one is here: none waits for another one.
            let event = format!("data: {number}\n\n");
            within(sender.send(Frame::data(Bytes::from(event.clone()))))
                .await
                .unwrap();
            let mut arrived = Vec::new();
            while arrived.len() < event.len() {
                let frame = within(answer.frame()).await.unwrap().unwrap();
                arrived.extend(frame.into_data().unwrap());
            }
            assert_eq!(arrived, event.as_bytes());
        }
        drop(sender);
        assert_eq!(guest::bytes_of(Ok(answer)).await, (Vec::new(), false));
    }
}

#[tokio::test]
async fn trailers_go_both_ways() {
    let lab = Lab::new(handler(|request| async move {
        let body = request.into_body().collect().await.unwrap();
        let sum = body.trailers().unwrap()["x-sum"].clone();
        let (sender, body) = frames();
        tokio::spawn(async move {
            sender
                .send(Frame::data(Bytes::from("message")))
                .await
                .unwrap();
            let trailers = HeaderMap::from_iter([("grpc-status".parse().unwrap(), sum)]);
            sender.send(Frame::trailers(trailers)).await.unwrap();
        });
        let answer = Response::builder().header("trailer", "grpc-status");
        answer.body(body).unwrap()
    }))
    .await;
    for guest in lab.guests().await {
        let (sender, body) = frames();
        let request = with_token(&guest, &lab, "/pkg.Service/Method")
            .header("te", "trailers")
            .header("trailer", "x-sum")
            .body(body)
            .unwrap();
        let (answer, ()) = tokio::join!(guest.send(request), async {
            within(sender.send(Frame::data(Bytes::from("message"))))
                .await
                .unwrap();
            let trailers = HeaderMap::from_iter([("x-sum".parse().unwrap(), "7".parse().unwrap())]);
            within(sender.send(Frame::trailers(trailers)))
                .await
                .unwrap();
            drop(sender);
        });
        let body = within(answer.unwrap().into_body().collect()).await.unwrap();
        assert_eq!(body.trailers().unwrap()["grpc-status"], "7");
        assert_eq!(body.to_bytes(), "message");
    }
    let seen = lab.upstream.seen();
    assert!(
        seen.iter()
            .all(|request| request.header("te") == "trailers")
    );
}

fn with_token(guest: &Guest, lab: &Lab, path: &str) -> http::request::Builder {
    let credential = format!("Bearer {}", lab.token);
    guest
        .request(Method::POST, path)
        .header("authorization", credential)
}
