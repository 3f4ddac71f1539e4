//! Connections that are open, of which a few make requests at a time.

use std::sync::Arc;
use std::time::Duration;

use msb_tls_edge::{Refused, Served};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::frames::{
    AUTHORITY, HEADERS, METHOD, PATH, PREFACE, SCHEME, SETTINGS, WHOLE, frame, head,
};
use crate::guest::{self, Guest};
use crate::lab::{HOST, Lab, Tls, within};
use crate::upstream::{full, handler};

/// The number of connections at once.
const CONNECTIONS_MAX: usize = 1_000;
/// The number of requests at once.
const ACTIVE_MAX: usize = 96;
/// A time after which a request no longer waits for its turn, nor a turn for its request.
const LONG: Duration = Duration::from_secs(61);

/// Returns a lab whose upstream answers `/held` once it is told to, and all else at once.
async fn lab() -> (Lab, Arc<Semaphore>) {
    let told = Arc::new(Semaphore::new(0));
    let of_host = Arc::clone(&told);
    let lab = Lab::new(handler(move |request| {
        let told = Arc::clone(&of_host);
        async move {
            if request.uri().path() == "/held" {
                told.acquire().await.unwrap().forget();
            }
            http::Response::new(full("ok"))
        }
    }));
    (lab.await, told)
}

/// Waits until the upstream has seen so many requests.
async fn await_seen(lab: &Lab, count: usize) {
    within(async {
        while lab.upstream.seen().len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Sends the begin of a request, or more, without waiting for an answer.
async fn send(tls: &mut Tls, text: &str) {
    within(async {
        tls.stream.write_all(text.as_bytes()).await.unwrap();
        tls.stream.flush().await.unwrap();
    })
    .await;
}

fn request(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: {HOST}\r\n\r\n")
}

/// Returns connections whose requests are all that may be under way.
async fn hold_all(lab: &Lab) -> Vec<Tls> {
    let mut held = Vec::new();
    for _ in 0..ACTIVE_MAX {
        let mut tls = lab.tls(&["http/1.1"]).await.unwrap();
        send(&mut tls, &request("/held")).await;
        held.push(tls);
    }
    await_seen(lab, ACTIVE_MAX).await;
    held
}

/// Lets time pass, all at once.
async fn pass_time() {
    tokio::time::pause();
    tokio::time::advance(LONG).await;
    tokio::time::resume();
}

/// Reads until the answers have this many bodies.
async fn read_answers(tls: &mut Tls, count: usize) {
    let mut answers = String::new();
    within(async {
        while answers.matches("\r\n\r\nok").count() < count {
            let mut buffer = [0; 1024];
            let read = tls.stream.read(&mut buffer).await.unwrap();
            assert!(read > 0, "{answers}");
            answers.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
    })
    .await;
}

/// Both ends of each connection with the host are in this process.
fn raise_open_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, limit).unwrap();
}

fn get_held(guest: &Arc<Guest>) -> JoinHandle<String> {
    let guest = Arc::clone(guest);
    tokio::spawn(async move { guest::text(guest.get("/held", &[]).await.unwrap()).await })
}

#[tokio::test]
async fn a_thousand_connections_make_requests_in_turn() {
    raise_open_files();
    let (lab, told) = lab().await;
    let mut guests = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        guests.push(Arc::new(lab.http1().await));
    }
    for _ in 0..2 {
        for guest in &guests {
            let answer = guest.get_with("/", &lab).await.unwrap();
            assert_eq!(guest::text(answer).await, "ok");
        }
    }
    assert_eq!(lab.upstream.handshakes(), CONNECTIONS_MAX);
    let (busy, others) = guests.split_at(ACTIVE_MAX);
    let mut held: Vec<_> = busy.iter().skip(1).map(get_held).collect();
    await_seen(&lab, 2 * CONNECTIONS_MAX + held.len()).await;
    // One turn is left, which all others share.
    for guest in others {
        let answer = guest.get_with("/", &lab).await.unwrap();
        assert_eq!(guest::text(answer).await, "ok");
    }
    held.extend(busy.first().map(get_held));
    let seen = 2 * CONNECTIONS_MAX + others.len() + ACTIVE_MAX;
    await_seen(&lab, seen).await;
    let waiting: Vec<_> = others.iter().take(2).map(get_held).collect();
    tokio::task::yield_now().await;
    assert_eq!(lab.upstream.seen().len(), seen);
    told.add_permits(1);
    await_seen(&lab, seen + 1).await;
    told.add_permits(ACTIVE_MAX + 1);
    for answer in held.into_iter().chain(waiting) {
        assert_eq!(within(answer).await.unwrap(), "ok");
    }
    assert_eq!(lab.upstream.handshakes(), CONNECTIONS_MAX);
}

#[tokio::test]
async fn a_connection_that_waits_too_long_for_its_turn_is_refused() {
    let (lab, _told) = lab().await;
    let _held = hold_all(&lab).await;
    let mut waiting = lab.tls(&["http/1.1"]).await.unwrap();
    send(&mut waiting, &request("/")).await;
    pass_time().await;
    let outcome = within(waiting.served).await.unwrap();
    assert!(
        matches!(outcome, Served::Refused(Refused::Waited)),
        "{outcome:?}"
    );
    assert_eq!(lab.upstream.seen().len(), ACTIVE_MAX);
}

#[tokio::test]
async fn a_stream_that_waits_too_long_for_its_turn_is_answered() {
    let (lab, _told) = lab().await;
    let _held = hold_all(&lab).await;
    let mut tls = lab.tls(&["h2"]).await.unwrap();
    let fields = head(&[METHOD, SCHEME, AUTHORITY, PATH]);
    let sent = [
        PREFACE,
        &frame(SETTINGS, 0, 0, &[]),
        &frame(HEADERS, WHOLE, 1, &fields),
    ];
    within(async {
        tls.stream.write_all(&sent.concat()).await.unwrap();
        tls.stream.flush().await.unwrap();
        // The acknowledgement of the settings: the request behind them is read, too.
        let mut kind = 0;
        while kind != SETTINGS {
            kind = next_kind(&mut tls).await;
        }
    })
    .await;
    for _ in 0..ACTIVE_MAX {
        tokio::task::yield_now().await;
    }
    pass_time().await;
    within(async { while next_kind(&mut tls).await != HEADERS {} }).await;
    assert_eq!(lab.upstream.seen().len(), ACTIVE_MAX);
    drop(tls);
    within(async {
        while lab.log.http().iter().all(|http| http.status != Some(503)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Reads a frame, and returns its kind.
async fn next_kind(tls: &mut Tls) -> u8 {
    let mut begin = [0; 9];
    tls.stream.read_exact(&mut begin).await.unwrap();
    let [high, middle, low, kind, ..] = begin;
    let length = u32::from_be_bytes([0, high, middle, low]);
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    tls.stream.read_exact(&mut payload).await.unwrap();
    kind
}

#[tokio::test]
async fn heads_that_do_not_end_lose_their_turns() {
    let (lab, _told) = lab().await;
    let mut begun = Vec::new();
    for _ in 0..ACTIVE_MAX {
        let mut tls = lab.tls(&["http/1.1"]).await.unwrap();
        send(&mut tls, "GET / HTTP/1.1\r\nx: ").await;
        begun.push(tls);
    }
    let mut waiting = lab.tls(&["http/1.1"]).await.unwrap();
    send(&mut waiting, &request("/")).await;
    tokio::time::pause();
    tokio::time::advance(LONG / 2 + Duration::from_secs(1)).await;
    tokio::time::resume();
    read_answers(&mut waiting, 1).await;
    for tls in begun {
        let outcome = within(tls.served).await.unwrap();
        assert!(
            matches!(outcome, Served::Ended { is_clean: true }),
            "{outcome:?}"
        );
    }
}

#[tokio::test]
async fn requests_that_arrive_together_and_in_pieces_are_all_answered() {
    let (lab, _told) = lab().await;
    let mut tls = lab.tls(&["http/1.1"]).await.unwrap();
    let third = request("/3");
    let (begin, rest) = third.split_at(9);
    send(
        &mut tls,
        &format!("{}{}{begin}", request("/1"), request("/2")),
    )
    .await;
    read_answers(&mut tls, 2).await;
    send(&mut tls, rest).await;
    read_answers(&mut tls, 1).await;
    let paths: Vec<_> = lab.upstream.seen().into_iter().map(|it| it.uri).collect();
    assert_eq!(paths, ["/1", "/2", "/3"]);
    assert_eq!(lab.upstream.handshakes(), 1);
}

#[tokio::test]
async fn a_body_that_was_not_read_is_no_request() {
    let (lab, _told) = lab().await;
    let inner = request("/inner");
    let outer = format!(
        "GET / HTTP/1.1\r\nhost: {HOST}\r\ncontent-length: {}\r\ntransfer-encoding: gzip\r\n\r\n",
        inner.len()
    );
    let answer = guest::raw(&lab, &[outer, inner].concat().into_bytes()).await;
    assert!(!answer.contains("200 OK"), "{answer}");
    assert_eq!(lab.upstream.seen().len(), 0);
}
