//! More connections than there may be.

use msb_tls_edge::{Refused, Served};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::guest;
use crate::lab::{Lab, within};
use crate::upstream::{frames, handler, ok};

/// The number of connections at once that are ended, or whose hello is not complete.
const CONNECTIONS_MAX: usize = 128;

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
    }
    tokio::task::yield_now().await;
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
