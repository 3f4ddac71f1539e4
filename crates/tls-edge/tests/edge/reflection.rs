//! Answers that hold the value: they do not reach the guest.

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use hyper::body::Incoming;
use msb_tls_edge::{EdgeEvent, Served};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::guest::{self, Guest};
use crate::lab::{HOST, Lab, VALUE, key};
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
        assert!(!guest::text(answer).await.contains("bytes of gzip"));
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
        assert_eq!(request.headers()["accept-encoding"], "gzip");
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
