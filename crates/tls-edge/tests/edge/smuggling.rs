//! Requests that servers read in different ways: the host reads what was checked, or nothing.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::guest;
use crate::lab::{HOST, Lab};
use crate::upstream::{HostAuthority, Upstream, ok};

/// Returns true at the end of a request, or of several.
fn is_complete(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let is_chunked = text.contains("transfer-encoding: chunked\r\n");
    text.ends_with(if is_chunked { "0\r\n\r\n" } else { "\r\n\r\n" })
}

/// A lab whose upstream keeps the bytes that arrive, and answers `ok` at the end of a request.
async fn recorder() -> (Lab, Arc<Mutex<Vec<u8>>>) {
    let authority = HostAuthority::new();
    let config = authority.config(&[HOST], &["http/1.1"]);
    let bytes = Arc::<Mutex<Vec<u8>>>::default();
    let arrived = Arc::clone(&bytes);
    let upstream = Upstream::raw(config, move |mut stream| {
        let arrived = Arc::clone(&arrived);
        async move {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut buffer).await {
                let is_complete = {
                    let mut arrived = arrived.lock().unwrap();
                    arrived.extend_from_slice(&buffer[..read]);
                    is_complete(&arrived)
                };
                if !is_complete {
                    continue;
                }
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
                if stream.write_all(answer).await.is_err() || stream.flush().await.is_err() {
                    break;
                }
            }
        }
    })
    .await;
    let lab = Lab::with(upstream, &authority, &format!("K@{HOST}"), &[]);
    (lab, bytes)
}

/// Returns the status of the answer to these bytes, and the bytes that reached the upstream.
async fn sent(bytes: &str) -> (String, String) {
    let (lab, arrived) = recorder().await;
    let answer = guest::raw(&lab, bytes.as_bytes()).await;
    let arrived = String::from_utf8(arrived.lock().unwrap().clone()).unwrap();
    let status = answer.get(9..12).unwrap_or_default().to_owned();
    (status, arrived)
}

/// Returns a request with these lines after its `Host`, and what follows its head.
fn post(lines: &str, rest: &str) -> String {
    format!("POST /first HTTP/1.1\r\nHost: {HOST}\r\n{lines}\r\n\r\n{rest}")
}

/// A request that must not arrive.
fn second() -> String {
    format!("GET /second HTTP/1.1\r\nHost: {HOST}\r\n\r\n")
}

#[tokio::test]
async fn a_request_with_two_readings_is_refused() {
    let second = second();
    let nul = "X: a\0b";
    let cases = [
        post("Transfer-Encoding: xchunked", &second),
        post(
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
            &second,
        ),
        post("Transfer-Encoding: chunked, identity", &second),
        post("Content-Length: 3\r\nContent-Length: 5", &second),
        post("Content-Length: 3, 5", &second),
        post("Content-Length: +3", &second),
        post("Content-Length: -1", &second),
        post("Content-Length: 0x3", &second),
        post("X: a\r\n b: c", &second),
        post("X : a", &second),
        post(nul, &second),
        post("X: a\rb", &second),
        post(": a", &second),
        format!(
            "POST /first HTTP/1.0\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n{second}"
        ),
        format!("POST /first HTTP/1.1\r\n Host: {HOST}\r\n\r\n{second}"),
        format!("POST  /first HTTP/1.1\r\nHost: {HOST}\r\n\r\n{second}"),
        format!("POST /first HTTP/1.2\r\nHost: {HOST}\r\n\r\n{second}"),
    ];
    for case in cases {
        let (status, arrived) = sent(&case).await;
        assert_eq!((status.as_str(), arrived.as_str()), ("400", ""), "{case:?}");
    }
    let codings = "Transfer-Encoding: gzip, chunked";
    let (status, arrived) = sent(&post(codings, "0\r\n\r\n")).await;
    assert_eq!((status.as_str(), arrived.as_str()), ("501", ""));
}

#[tokio::test]
async fn a_length_beside_chunks_does_not_count() {
    for lines in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 4",
        "Transfer-Encoding: chunked\r\nContent-Length: 400",
    ] {
        let case = post(lines, &format!("3\r\nabc\r\n0\r\n\r\n{}", second()));
        let (_, arrived) = sent(&case).await;
        assert_eq!(arrived.matches(" HTTP/1.1\r\n").count(), 1, "{arrived}");
        assert!(
            !arrived.to_ascii_lowercase().contains("content-length"),
            "{arrived}"
        );
        assert!(!arrived.contains("/second"), "{arrived}");
        assert!(arrived.contains("\r\n\r\n3\r\nabc\r\n"), "{arrived}");
    }
}

#[tokio::test]
async fn a_head_is_written_anew() {
    let bare = format!("POST /first HTTP/1.1\nHost: {HOST}\nX-Own:   a  \nConnection: close\n\n");
    let (status, arrived) = sent(&bare).await;
    assert_eq!(status, "200");
    assert_eq!(
        arrived,
        // Answers of a host with secrets are searched, so that they are asked for uncompressed.
        format!(
            "POST /first HTTP/1.1\r\nHost: {HOST}\r\nX-Own: a\r\naccept-encoding: identity\r\n\r\n"
        )
    );
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let lab = Lab::new(ok()).await;
    for line in [
        "X: 0123456789abcdef\r\n".to_owned(),
        format!("X: {}\r\n", "a".repeat(4096)),
    ] {
        let lines = line.repeat((1 << 20) / line.len());
        let answer = guest::raw(&lab, post(lines.trim_end(), "").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
    let line = format!(
        "GET /{} HTTP/1.1\r\nHost: {HOST}\r\n\r\n",
        "a".repeat(1 << 20)
    );
    let answer = guest::raw(&lab, line.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert_eq!(lab.upstream.seen().len(), 0);
}

#[tokio::test]
async fn garbage_after_the_handshake_is_refused() {
    let lab = Lab::new(ok()).await;
    for bytes in [
        &b"\0\0\0\0"[..],
        b"\x16\x03\x01\0\x01",
        b"SSH-2.0-x\r\n\r\n",
        b"\r\n\r\nGET\r\n\r\n",
    ] {
        let answer = guest::raw(&lab, &[bytes, b"\r\n\r\n"].concat()).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
    assert_eq!(lab.upstream.seen().len(), 0);
    assert!(lab.log.http().is_empty());
}
