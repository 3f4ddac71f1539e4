//! HTTP/2 written by hand: heads that no client library sends.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::lab::{HOST, Lab, within};
use crate::upstream::ok;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(crate) const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
/// `END_STREAM` and `END_HEADERS`.
pub(crate) const WHOLE: u8 = 0x5;

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [head.as_slice(), payload].concat()
}

/// Returns a head in HPACK without tables.
pub(crate) fn head(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in fields {
        head.push(0);
        for text in [name, value] {
            head.push(u8::try_from(text.len()).unwrap());
            assert!(text.len() < 127);
            head.extend_from_slice(text.as_bytes());
        }
    }
    head
}

/// Returns true for the announcement that a connection takes no more requests, which answers none.
fn is_announcement(kind: u8, payload: &[u8]) -> bool {
    kind == GOAWAY && payload.get(4..8) == Some(&[0; 4])
}

/// Sends a request with these fields on stream 1, and returns the first answer to it.
async fn first_answer(lab: &Lab, fields: &[(&str, &str)]) -> (u8, Vec<u8>) {
    let tls = lab.tls(&["h2"]).await.unwrap();
    let mut stream = tls.stream;
    let settings = frame(SETTINGS, 0, 0, &[]);
    let request = frame(HEADERS, WHOLE, 1, &head(fields));
    within(async {
        stream
            .write_all(&[PREFACE, &settings, &request].concat())
            .await
            .unwrap();
        stream.flush().await.unwrap();
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await.unwrap();
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; usize::try_from(length).unwrap()];
            stream.read_exact(&mut payload).await.unwrap();
            let is_answer = matches!(head[3], HEADERS | RST_STREAM | GOAWAY);
            if is_answer && !is_announcement(head[3], &payload) {
                return (head[3], payload);
            }
        }
    })
    .await
}

pub(crate) const METHOD: (&str, &str) = (":method", "GET");
pub(crate) const SCHEME: (&str, &str) = (":scheme", "https");
pub(crate) const AUTHORITY: (&str, &str) = (":authority", HOST);
pub(crate) const PATH: (&str, &str) = (":path", "/");

#[tokio::test]
async fn a_head_that_is_not_valid_is_reset() {
    let lab = Lab::new(ok()).await;
    let (kind, _) = first_answer(&lab, &[METHOD, SCHEME, AUTHORITY, PATH]).await;
    assert_eq!(kind, HEADERS);
    assert_eq!(lab.upstream.seen().len(), 1);
    let cases: [&[(&str, &str)]; 12] = [
        &[
            METHOD,
            SCHEME,
            AUTHORITY,
            PATH,
            ("transfer-encoding", "chunked"),
        ],
        &[METHOD, SCHEME, AUTHORITY, PATH, ("connection", "upgrade")],
        &[METHOD, SCHEME, AUTHORITY, PATH, ("upgrade", "websocket")],
        &[METHOD, SCHEME, AUTHORITY, PATH, ("x", "a\r\nb: c")],
        &[METHOD, SCHEME, AUTHORITY, PATH, ("x", "a\0")],
        &[METHOD, SCHEME, AUTHORITY, PATH, ("X", "a")],
        &[METHOD, SCHEME, AUTHORITY, PATH, ("x\r\ny", "a")],
        &[METHOD, SCHEME, AUTHORITY, AUTHORITY, PATH],
        &[METHOD, SCHEME, AUTHORITY, (":path", "/ HTTP/1.1\r\nx: y")],
        &[
            METHOD,
            SCHEME,
            (":authority", "api.example.com\r\nx: y"),
            PATH,
        ],
        &[
            (":method", "GET / HTTP/1.1\r\nx: y\r\n\r\nGET"),
            SCHEME,
            AUTHORITY,
            PATH,
        ],
        &[METHOD, AUTHORITY, PATH],
    ];
    for case in cases {
        let (kind, payload) = first_answer(&lab, case).await;
        assert!(
            matches!(kind, RST_STREAM | GOAWAY),
            "{case:?}: {kind} {payload:?}"
        );
    }
    assert_eq!(lab.upstream.seen().len(), 1);
}

#[tokio::test]
async fn a_head_without_a_host_is_misdirected() {
    let lab = Lab::new(ok()).await;
    for case in [
        &[METHOD, SCHEME, PATH][..],
        &[METHOD, SCHEME, PATH, ("host", "attacker.example")],
        &[METHOD, SCHEME, PATH, ("host", HOST), ("host", HOST)],
        &[
            METHOD,
            SCHEME,
            AUTHORITY,
            PATH,
            ("host", HOST),
            ("host", HOST),
        ],
    ] {
        let (kind, _) = first_answer(&lab, case).await;
        assert_eq!(kind, HEADERS, "{case:?}");
    }
    assert_eq!(lab.upstream.seen().len(), 0);
}

#[tokio::test]
async fn extended_connect_is_not_offered() {
    let lab = Lab::new(ok()).await;
    let connect = [
        (":method", "CONNECT"),
        (":protocol", "websocket"),
        SCHEME,
        AUTHORITY,
        PATH,
    ];
    let (kind, _) = first_answer(&lab, &connect).await;
    assert!(matches!(kind, RST_STREAM | GOAWAY | HEADERS), "{kind}");
    assert_eq!(lab.upstream.seen().len(), 0);
}
