//! More connections than there may be.

use http::{HeaderName, HeaderValue};
use http_body::Frame;
use msb_tls_edge::{Refused, Served};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::guest::{self, Guest};
use crate::lab::{Lab, within};
use crate::upstream::{frames, handler, ok};

/// The number of connections at once that are ended, or whose hello is not complete.
const CONNECTIONS_MAX: usize = 1_008;
/// The number of these that speak HTTP/2.
const HTTP2_CONNECTIONS_MAX: usize = 8;

#[tokio::test]
async fn connections_beyond_the_limit_are_refused_and_the_others_go_on() {
    let lab = Lab::new(ok()).await;
    let first = lab.http1().await;
    guest::text(first.get_with("/", &lab).await.unwrap()).await;
    let mut stalled = Vec::new();
    for _ in 1..CONNECTIONS_MAX {
        let (mut guest, served) = lab.open();
        guest.write_all(&[22]).await.unwrap();
        stalled.push((guest, served));
        tokio::task::yield_now().await;
    }
    // Each of them has had the time to take its place.
    for _ in 0..CONNECTIONS_MAX {
        tokio::task::yield_now().await;
    }
    let (mut guest, served) = lab.open();
    let outcome = within(served).await.unwrap();
    assert!(
        matches!(outcome, Served::Refused(Refused::Busy)),
        "{outcome:?}"
    );
    assert_eq!(within(guest.read(&mut [0; 1])).await.unwrap(), 0);
    // A connection that is open already is served.
    let answer = first.get_with("/", &lab).await.unwrap();
    assert_eq!(guest::text(answer).await, "ok");
    // The place of a connection that has ended is taken by another one.
    let (guest, served) = stalled.pop().unwrap();
    drop(guest);
    within(served).await.unwrap();
    let next = lab.http2().await;
    assert_eq!(
        guest::text(next.get_with("/", &lab).await.unwrap()).await,
        "ok"
    );
}

#[tokio::test]
async fn connections_beyond_the_limit_of_http_2_speak_http_1() {
    let lab = Lab::new(ok()).await;
    let mut guests = Vec::new();
    for _ in 0..HTTP2_CONNECTIONS_MAX {
        guests.push(lab.http2().await);
    }
    let next = lab.tls(&["h2", "http/1.1"]).await.unwrap();
    let chosen = next.stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
    assert_eq!(chosen.as_deref(), Some(b"http/1.1".as_slice()));
    let next = Guest::http1(next).await;
    let answer = next.get_with("/", &lab).await.unwrap();
    assert_eq!(guest::text(answer).await, "ok");
    // A guest that speaks nothing else has to wait.
    assert!(lab.tls(&["h2"]).await.is_err());
    guests.pop().unwrap().close().await;
    let last = lab.http2().await;
    let answer = last.get_with("/", &lab).await.unwrap();
    assert_eq!(guest::text(answer).await, "ok");
}

#[tokio::test]
async fn heads_and_trailers_of_many_fields_are_refused() {
    let lab = Lab::new(handler(|request| async move {
        let is_many = request.uri().path() == "/many";
        let (sender, body) = frames();
        tokio::spawn(async move {
            let fields = if is_many { 21 } else { 20 };
            let trailers = (0..fields).map(|number| {
                let name: HeaderName = format!("x-{number}").parse().unwrap();
                (name, HeaderValue::from_static("1"))
            });
            // The edge may have ended the answer.
            let _ = sender.send(Frame::trailers(trailers.collect())).await;
        });
        http::Response::new(body)
    }))
    .await;
    let guest = lab.http2().await;
    let names: Vec<_> = (0..101).map(|number| format!("x-{number}")).collect();
    let headers: Vec<_> = names.iter().map(|name| (name.as_str(), "1")).collect();
    let answer = guest.get("/", &headers).await.unwrap();
    assert_eq!(answer.status(), 431);
    let (_, is_broken) = guest::bytes_of(lab.http2().await.get("/", &[]).await).await;
    assert!(!is_broken);
    let (_, is_broken) = guest::bytes_of(lab.http2().await.get("/many", &[]).await).await;
    assert!(is_broken);
}

#[tokio::test]
async fn a_guest_that_does_not_read_stops_no_other_connection() {
    let lab = Lab::new(handler(|request| async move {
        let is_endless = request.uri().path() == "/endless";
        let (sender, body) = frames();
        tokio::spawn(async move {
            let piece = || http_body::Frame::data(vec![b'x'; 16 * 1024].into());
            while sender.send(piece()).await.is_ok() && is_endless {}
        });
        http::Response::new(body)
    }))
    .await;
    let guest = lab.http2().await;
    let mut endless = Vec::new();
    for _ in 0..2 {
        endless.push(guest.get_with("/endless", &lab).await.unwrap());
    }
    let other = lab.http1().await;
    let answer = other.get_with("/", &lab).await.unwrap();
    assert_eq!(guest::text(answer).await.len(), 16 * 1024);
    drop(endless);
    guest.close().await;
}
