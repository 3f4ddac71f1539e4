//! Answers that hold the value: they do not reach the guest.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use msb_tls_edge::{EdgeEvent, Served};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use crate::guest::{self, Guest};
use crate::lab::{HOST, Lab, VALUE, key, within};
use crate::upstream::{HostAuthority, TestBody, Upstream, frames, full, handler};

/// Returns the credential of a request as the upstream sees it.
fn credential(request: &Request<Incoming>) -> String {
    let header = request.headers().get("authorization");
    header.map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
}

/// Returns a body that is sent in these pieces, each in a frame of its own.
fn pieces(all: Vec<Vec<u8>>) -> TestBody {
    let (sender, body) = frames();
    tokio::spawn(async move {
        for piece in all {
            if sender.send(Frame::data(Bytes::from(piece))).await.is_err() {
                return;
            }
            // Both pieces would be one record otherwise.
            tokio::task::yield_now().await;
        }
    });
    body
}

/// Returns true if bytes hold the value.
fn holds_value(bytes: &[u8]) -> bool {
    bytes
        .windows(VALUE.len())
        .any(|part| part == VALUE.as_bytes())
}

/// Checks that an answer breaks off before the end of the value, and with it the connection.
async fn assert_withheld(lab: &Lab, guest: Guest) {
    let before = lab.log.reflected();
    let (bytes, is_broken) = guest::bytes_of(guest.get_with("/echo", lab).await).await;
    assert!(is_broken, "{}", String::from_utf8_lossy(&bytes));
    assert!(!holds_value(&bytes));
    let outcome = guest.closed().await;
    assert!(
        matches!(outcome, Served::Ended { is_clean: false }),
        "{outcome:?}"
    );
    assert_eq!(lab.log.reflected(), before + 1);
}

#[tokio::test]
async fn a_body_that_holds_the_value_ends_before_it() {
    let lab = Lab::new(handler(|request| async move {
        Response::new(full(format!("before {} after", credential(&request))))
    }))
    .await;
    for guest in lab.guests().await {
        assert_withheld(&lab, guest).await;
    }
    let events = lab.log.all();
    assert!(events.contains(&EdgeEvent::SecretReflected {
        secret: key(),
        host: HOST.to_owned(),
        path: "/echo".to_owned(),
    }));
}

#[tokio::test]
async fn a_value_that_comes_in_two_pieces_is_withheld() {
    let lab = Lab::new(handler(|request| async move {
        let split: usize = request.headers()["x-split"]
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        let text = format!("before {VALUE} after").into_bytes();
        let (first, second) = text.split_at("before ".len() + split);
        let body = pieces(vec![first.to_vec(), second.to_vec()]);
        Response::new(body)
    }))
    .await;
    for split in 0..=VALUE.len() {
        for guest in lab.guests().await {
            let (authorization, split) = (format!("Bearer {}", lab.token), split.to_string());
            let headers = [("authorization", &*authorization), ("x-split", &*split)];
            let (bytes, is_broken) = guest::bytes_of(guest.get("/", &headers).await).await;
            assert!(is_broken && !holds_value(&bytes), "{split}");
            guest.closed().await;
        }
    }
    assert_eq!(lab.log.reflected(), 2 * (VALUE.len() + 1));
}

#[tokio::test]
async fn an_encoded_value_is_withheld() {
    // The value in base64 after no, one and two bytes, and in a URL.
    let forms = [
        "djRsdWUrMDEyMzQ1Njc4OS9hYmNkZWY=",
        "eHY0bHVlKzAxMjM0NTY3ODkvYWJjZGVm",
        "eHh2NGx1ZSswMTIzNDU2Nzg5L2FiY2RlZg==",
        "v4lue%2B0123456789%2Fabcdef",
    ];
    for form in forms {
        let lab = Lab::new(handler(move |_| async move {
            Response::new(full(format!("before {form} after")))
        }))
        .await;
        let guest = lab.http1().await;
        let answer = guest.get_with("/", &lab).await;
        let (bytes, is_broken) = guest::bytes_of(answer).await;
        assert!(is_broken, "{form}: {}", String::from_utf8_lossy(&bytes));
        guest.closed().await;
        assert_eq!(lab.log.reflected(), 1, "{form}");
    }
}

#[tokio::test]
async fn a_header_that_holds_the_value_is_withheld() {
    let lab = Lab::new(handler(|request| async move {
        let answer = Response::builder().header("x-echo", credential(&request));
        answer.body(full("ok")).unwrap()
    }))
    .await;
    for guest in lab.guests().await {
        let answer = guest.get_with("/", &lab).await.unwrap();
        assert_eq!(answer.status(), 502);
        assert_eq!(answer.headers()["x-msb-refused"], "secret.reflected");
        assert!(!answer.headers().contains_key("x-echo"));
        let text = guest::text(answer).await;
        assert!(text.contains("secret K") && !text.contains(VALUE), "{text}");
        guest.closed().await;
    }
    assert_eq!(lab.log.reflected(), 2);
    assert!(
        lab.log
            .http()
            .iter()
            .all(|record| record.status == Some(502))
    );
}

#[tokio::test]
async fn trailers_that_hold_the_value_are_withheld() {
    let lab = Lab::new(handler(|request| async move {
        let value = credential(&request).parse().unwrap();
        let (sender, body) = frames();
        tokio::spawn(async move {
            let trailers = HeaderMap::from_iter([("x-echo".parse().unwrap(), value)]);
            // The edge may have closed the connection.
            let _ = sender.send(Frame::data(Bytes::from("message"))).await;
            let _ = sender.send(Frame::trailers(trailers)).await;
        });
        Response::builder()
            .header("trailer", "x-echo")
            .body(body)
            .unwrap()
    }))
    .await;
    for guest in lab.guests().await {
        let credential = format!("Bearer {}", lab.token);
        let headers = [("authorization", &*credential), ("te", "trailers")];
        let (bytes, is_broken) = guest::bytes_of(guest.get("/", &headers).await).await;
        assert!(is_broken && !holds_value(&bytes));
        guest.closed().await;
    }
    assert_eq!(lab.log.reflected(), 2);
}

#[tokio::test]
async fn a_later_answer_of_the_connection_is_searched_too() {
    let lab = Lab::new(handler(|request| async move {
        let is_second = request.uri().path() == "/second";
        Response::new(full(if is_second { VALUE } else { "ok" }))
    }))
    .await;
    for guest in lab.guests().await {
        let answer = guest.get_with("/first", &lab).await.unwrap();
        assert_eq!(guest::text(answer).await, "ok");
        let (bytes, is_broken) = guest::bytes_of(guest.get("/second", &[]).await).await;
        assert!(is_broken && !holds_value(&bytes));
        guest.closed().await;
    }
    assert_eq!(lab.log.reflected(), 2);
}

#[tokio::test]
async fn an_answer_that_was_compressed_unasked_is_withheld() {
    let lab = Lab::new(handler(|request| async move {
        assert_eq!(request.headers()["accept-encoding"], "identity");
        let answer = Response::builder().header("content-encoding", "gzip");
        answer.body(full("bytes of gzip")).unwrap()
    }))
    .await;
    for guest in lab.guests().await {
        let credential = format!("Bearer {}", lab.token);
        let headers = [("authorization", &*credential), ("accept-encoding", "gzip")];
        let answer = guest.get("/", &headers).await.unwrap();
        assert_eq!(answer.status(), 502);
        assert_eq!(answer.headers()["x-msb-refused"], "secret.encoded");
        let text = guest::text(answer).await;
        assert!(text.contains("has carried the request out"), "{text}");
        assert!(!text.contains("bytes of gzip"), "{text}");
        guest.close().await;
    }
    let encoded = lab.log.all().into_iter().filter(|event| {
        *event
            == EdgeEvent::SecretEncoded {
                secret: key(),
                host: HOST.to_owned(),
                path: "/".to_owned(),
            }
    });
    assert_eq!(encoded.count(), 2);
}

#[tokio::test]
async fn messages_that_were_compressed_unasked_are_withheld() {
    let lab = Lab::new(handler(|request| async move {
        assert!(!request.headers().contains_key("grpc-accept-encoding"));
        let answer = Response::builder().header("grpc-encoding", "gzip");
        answer.body(full("compressed")).unwrap()
    }))
    .await;
    let guest = lab.http2().await;
    let credential = format!("Bearer {}", lab.token);
    let headers = [
        ("authorization", &*credential),
        ("grpc-accept-encoding", "gzip"),
    ];
    let answer = guest.get("/", &headers).await.unwrap();
    assert_eq!(answer.headers()["x-msb-refused"], "secret.encoded");
    let is_it = |event: &EdgeEvent| matches!(event, EdgeEvent::SecretEncoded { .. });
    assert_eq!(lab.log.all().into_iter().filter(is_it).count(), 1);
}

#[tokio::test]
async fn a_guest_cannot_ask_for_a_value_in_parts() {
    let lab = Lab::new(handler(|request| async move {
        // The bytes of the echo that the request names.
        let echo = format!("credential: {}", credential(&request));
        let range = request.headers().get("range");
        let bounds = range.and_then(|range| range.to_str().ok()?.strip_prefix("bytes="));
        let Some((begin, end)) = bounds.and_then(|bounds| bounds.split_once('-')) else {
            return Response::new(full(echo));
        };
        let (begin, end): (usize, usize) = (begin.parse().unwrap(), end.parse().unwrap());
        let part = echo.as_bytes()[begin..=end].to_vec();
        Response::builder().status(206).body(full(part)).unwrap()
    }))
    .await;
    for guest in lab.guests().await {
        let credential = format!("Bearer {}", lab.token);
        let headers = [
            ("authorization", &*credential),
            ("range", "bytes=0-30"),
            ("if-range", "\"tag\""),
        ];
        let (bytes, is_broken) = guest::bytes_of(guest.get("/echo", &headers).await).await;
        assert!(is_broken && !holds_value(&bytes));
        guest.closed().await;
    }
    for request in lab.upstream.seen() {
        assert!(!request.headers.contains_key("range"));
        assert!(!request.headers.contains_key("if-range"));
    }
    assert_eq!(lab.log.reflected(), 2);
}

#[tokio::test]
async fn an_answer_to_another_connection_is_searched_too() {
    let last = Arc::<Mutex<String>>::default();
    let lab = Lab::new(handler(move |request| {
        let last = Arc::clone(&last);
        async move {
            let mut last = last.lock().unwrap();
            match request.uri().path() {
                "/last" => Response::new(full(last.clone())),
                "/last-in-head" => {
                    let answer = Response::builder().header("x-last", last.as_str());
                    answer.body(full("ok")).unwrap()
                }
                _ => {
                    *last = credential(&request);
                    Response::new(full("ok"))
                }
            }
        }
    }))
    .await;
    let sender = lab.http1().await;
    let answer = sender.get_with("/", &lab).await.unwrap();
    assert_eq!(guest::text(answer).await, "ok");
    // Neither guest sends the placeholder.
    for guest in lab.guests().await {
        let (bytes, is_broken) = guest::bytes_of(guest.get("/last", &[]).await).await;
        assert!(is_broken && !holds_value(&bytes));
        guest.closed().await;
    }
    for guest in lab.guests().await {
        let answer = guest.get("/last-in-head", &[]).await.unwrap();
        assert_eq!(answer.headers()["x-msb-refused"], "secret.reflected");
        guest.closed().await;
    }
    // The host may have kept a value that is no longer the secret's.
    lab.set_value("another-value-0123");
    let guest = lab.http1().await;
    let (bytes, is_broken) = guest::bytes_of(guest.get("/last", &[]).await).await;
    assert!(is_broken && !holds_value(&bytes));
    assert_eq!(lab.log.reflected(), 5);
}

/// A lab whose upstream answers `/events` with the frames that are sent to the second value.
async fn with_events() -> (Lab, mpsc::UnboundedReceiver<mpsc::Sender<Frame<Bytes>>>) {
    let (opened, streams) = mpsc::unbounded_channel();
    let lab = Lab::new(handler(move |request| {
        let body = if request.uri().path() == "/events" {
            let (sender, body) = frames();
            opened.send(sender).unwrap();
            body
        } else {
            full("ok")
        };
        async move { Response::new(body) }
    }))
    .await;
    (lab, streams)
}

#[tokio::test]
async fn an_open_answer_is_searched_for_values_that_come_later() {
    const LATER: &str = "a-later-value-0123";
    let (lab, mut streams) = with_events().await;
    for (value, sets) in [(VALUE, false), (LATER, true)] {
        let guest = lab.http2().await;
        let mut events = guest.get("/events", &[]).await.unwrap();
        let sender = within(streams.recv()).await.unwrap();
        let first = Frame::data(Bytes::from_static(b"first"));
        within(sender.send(first)).await.unwrap();
        let frame = within(events.frame()).await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), "first");
        // The placeholder is in another stream of the connection.
        if sets {
            lab.set_value(LATER);
        }
        guest::text(guest.get_with("/", &lab).await.unwrap()).await;
        let event = format!("data: Bearer {value}\n\n");
        within(sender.send(Frame::data(Bytes::from(event))))
            .await
            .unwrap();
        let (bytes, is_broken) = guest::bytes_of(Ok(events)).await;
        let text = String::from_utf8_lossy(&bytes);
        assert!(is_broken && !text.contains(value), "{text}");
        guest.closed().await;
    }
    assert_eq!(lab.log.reflected(), 2);
}

#[tokio::test]
async fn a_later_answer_that_was_compressed_unasked_is_withheld_too() {
    let lab = Lab::new(handler(|request| async move {
        if request.uri().path() == "/first" {
            return Response::new(full("ok"));
        }
        assert_eq!(request.headers()["accept-encoding"], "identity");
        let answer = Response::builder().header("content-encoding", "gzip");
        answer.body(full("bytes of gzip")).unwrap()
    }))
    .await;
    for guest in lab.guests().await {
        let answer = guest.get_with("/first", &lab).await.unwrap();
        assert_eq!(guest::text(answer).await, "ok");
        let answer = guest.get("/second", &[("accept-encoding", "gzip")]).await;
        let answer = answer.unwrap();
        assert_eq!(answer.headers()["x-msb-refused"], "secret.encoded");
        assert!(!guest::text(answer).await.contains("bytes of gzip"));
        guest.close().await;
    }
}

#[tokio::test]
async fn an_answer_to_a_request_without_a_value_may_be_compressed() {
    let lab = Lab::new(handler(|request| async move {
        // The host has been asked not to, because it may have a value from another request.
        assert_eq!(request.headers()["accept-encoding"], "identity");
        let answer = Response::builder().header("content-encoding", "gzip");
        answer.body(full("compressed")).unwrap()
    }))
    .await;
    for guest in lab.guests().await {
        let answer = guest
            .get("/", &[("accept-encoding", "gzip")])
            .await
            .unwrap();
        assert_eq!(answer.headers()["content-encoding"], "gzip");
        assert_eq!(guest::text(answer).await, "compressed");
    }
}

#[tokio::test]
async fn a_reason_phrase_that_holds_the_value_is_withheld() {
    let authority = HostAuthority::new();
    let config = authority.config(&[HOST], &["http/1.1"]);
    let upstream = Upstream::raw(config, |mut stream| async move {
        let mut head = [0; 4096];
        let _ = stream.read(&mut head).await;
        let answer = format!("HTTP/1.1 200 {VALUE}\r\ncontent-length: 2\r\n\r\nok");
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
    })
    .await;
    let lab = Lab::with(upstream, &authority, &format!("K@{HOST}"), &[]);
    let guest = lab.http1().await;
    let answer = guest.get_with("/", &lab).await.unwrap();
    assert_eq!(answer.status(), 502);
    assert_eq!(answer.headers()["x-msb-refused"], "secret.reflected");
    guest.closed().await;
    assert_eq!(lab.log.reflected(), 1);
}
