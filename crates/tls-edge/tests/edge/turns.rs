//! Connections that are open, of which a few make requests at a time.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use msb_tls_edge::{Refused, Served};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, LocalSet, spawn_local};

use crate::frames::{
    AUTHORITY, HEADERS, METHOD, PATH, PREFACE, SCHEME, SETTINGS, WHOLE, frame, head,
};
use crate::guest::{self, Guest};
use crate::lab::{HOST, Lab, Tls, within};
use crate::upstream::{HostAuthority, Upstream, full, handler, ok};

/// The number of connections that are open.
const CONNECTIONS: usize = 1_000;
/// The number of requests at once.
const ACTIVE_MAX: usize = 96;
/// A time after which a request no longer waits for its turn.
const LONG: Duration = Duration::from_secs(61);
/// A time after which a turn no longer waits for its request.
const LULL: Duration = Duration::from_secs(31);

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

/// Lets time pass, all at once, after all that is under way has come to wait.
async fn pass(time: Duration) {
    for _ in 0..10 * ACTIVE_MAX {
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    tokio::time::advance(time).await;
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

fn get_held(guest: &Rc<Guest>) -> JoinHandle<String> {
    let guest = Rc::clone(guest);
    spawn_local(async move { guest::text(guest.get("/held", &[]).await.unwrap()).await })
}

#[tokio::test]
async fn a_thousand_connections_make_requests_in_turn() {
    raise_open_files();
    LocalSet::new().run_until(take_turns()).await;
}

async fn take_turns() {
    let (lab, told) = lab().await;
    let mut guests = Vec::new();
    for _ in 0..CONNECTIONS {
        guests.push(Rc::new(lab.http1().await));
    }
    for _ in 0..2 {
        for guest in &guests {
            let answer = guest.get_with("/", &lab).await.unwrap();
            assert_eq!(guest::text(answer).await, "ok");
        }
    }
    assert_eq!(lab.upstream.handshakes(), CONNECTIONS);
    let (busy, others) = guests.split_at(ACTIVE_MAX);
    let mut held: Vec<_> = busy.iter().skip(1).map(get_held).collect();
    await_seen(&lab, 2 * CONNECTIONS + held.len()).await;
    // One turn is left, which all others share.
    for guest in others {
        let answer = guest.get_with("/", &lab).await.unwrap();
        assert_eq!(guest::text(answer).await, "ok");
    }
    held.extend(busy.first().map(get_held));
    let seen = 2 * CONNECTIONS + others.len() + ACTIVE_MAX;
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
    assert_eq!(lab.upstream.handshakes(), CONNECTIONS);
}

#[tokio::test]
async fn a_connection_that_waits_too_long_for_its_turn_is_refused() {
    let (lab, _told) = lab().await;
    let _held = hold_all(&lab).await;
    let mut waiting = lab.tls(&["http/1.1"]).await.unwrap();
    send(&mut waiting, &request("/")).await;
    pass(LONG).await;
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
    pass(LONG).await;
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
    pass(LULL).await;
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
async fn a_part_of_the_next_head_waits_for_no_other_turn() {
    let (lab, told) = lab().await;
    let mut begun = Vec::new();
    for _ in 0..ACTIVE_MAX {
        let mut tls = lab.tls(&["http/1.1"]).await.unwrap();
        let both = format!("{}GET / HTTP/1.1\r\nx: ", request("/held"));
        send(&mut tls, &both).await;
        begun.push(tls);
    }
    await_seen(&lab, ACTIVE_MAX).await;
    let mut waiting = lab.tls(&["http/1.1"]).await.unwrap();
    send(&mut waiting, &request("/")).await;
    told.add_permits(ACTIVE_MAX);
    for tls in &mut begun {
        read_answers(tls, 1).await;
    }
    for _ in 0..10 * ACTIVE_MAX {
        tokio::task::yield_now().await;
    }
    // What was read of a head is in memory: it keeps the turn of the request before it.
    assert_eq!(lab.upstream.seen().len(), ACTIVE_MAX);
    pass(LULL).await;
    read_answers(&mut waiting, 1).await;
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
async fn a_body_that_was_not_sent_on_is_no_request() {
    let authority = HostAuthority::new();
    let upstream = Upstream::http(authority.config(&[HOST], &["http/1.1"]), ok()).await;
    let rule = format!("https://{HOST}/v1/*:GET");
    let lab = Lab::with(upstream, &authority, &format!("K@{HOST}"), &[&rule]);
    let mut tls = lab.tls(&["http/1.1"]).await.unwrap();
    let inner = request("/v1/inner");
    let length = inner.len();
    let head = format!("POST /v2 HTTP/1.1\r\nhost: {HOST}\r\ncontent-length: {length}\r\n\r\n");
    // The body arrives once the request is answered.
    send(&mut tls, &head).await;
    let mut answer = [0; 12];
    within(tls.stream.read_exact(&mut answer)).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 403");
    // The connection may be closed by now.
    let _ = tls.stream.write_all(inner.as_bytes()).await;
    let _ = tls.stream.write_all(request("/v1/last").as_bytes()).await;
    let _ = tls.stream.flush().await;
    drop(tls.stream);
    within(tls.served).await.unwrap();
    let seen = lab.upstream.seen();
    assert!(seen.iter().all(|seen| seen.uri != "/v1/inner"), "{seen:?}");
}
