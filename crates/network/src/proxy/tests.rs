use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;

const TO: Destination<'static> = Destination {
    name: Some("api.test"),
    address: SocketAddrV4::new(Ipv4Addr::new(203, 0, 113, 9), 443),
};

/// The begin of a client without a user, and its request for the name.
const HELLO: &[u8] = b"\x05\x01\x00";
const NAME: &[u8] = b"\x05\x01\x00\x03\x08api.test\x01\xbb";

fn proxy(protocol: ProxyProtocol, address: SocketAddr, user: Option<&str>) -> Proxy {
    Proxy {
        protocol,
        addresses: vec![address],
        credentials: user.and_then(Credentials::parse),
        exceptions: Exceptions::default(),
    }
}

/// Starts a proxy of HTTP for one connection. It reads a head and answers it in pieces of this length. Returns what the
/// client sent in all.
async fn http_proxy(answer: Vec<u8>, length: usize) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n\r\n") {
            seen.push(stream.read_u8().await.unwrap());
        }
        for piece in answer.chunks(length) {
            // A client that refuses the answer may have gone.
            if stream.write_all(piece).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        let _ = stream.read_to_end(&mut seen).await;
        let _ = stream.write_all(b" and late").await;
        String::from_utf8(seen).unwrap()
    });
    (address, served)
}

/// Bytes that a proxy expects, and those that it answers.
type Step = (&'static [u8], &'static [u8]);

/// Starts a proxy of SOCKS5 for one connection: it expects bytes, and answers others.
async fn socks_proxy(steps: &[Step]) -> (SocketAddr, JoinHandle<Vec<u8>>) {
    let steps = steps.to_vec();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        for (expected, answer) in steps {
            let mut seen = vec![0; expected.len()];
            stream.read_exact(&mut seen).await.unwrap();
            assert_eq!(seen, expected);
            stream.write_all(answer).await.unwrap();
        }
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        let _ = stream.write_all(b" and late").await;
        rest
    });
    (address, served)
}

/// Sends data, ends this direction, and returns what arrives.
async fn converse(mut stream: TcpStream) -> String {
    stream.write_all(b"data").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn http_is_told_the_name_and_no_byte_is_lost() {
    let answer = b"HTTP/1.1 200 Connection established\r\nvia: x\r\n\r\nearly";
    for length in [1, 7, answer.len()] {
        let (address, served) = http_proxy(answer.to_vec(), length).await;
        let proxy = proxy(ProxyProtocol::Http, address, Some("u:p"));
        let stream = proxy.connect(TO).await.unwrap();
        assert_eq!(converse(stream).await, "early and late");
        let seen = served.await.unwrap();
        let head = "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n";
        let user = "Proxy-Authorization: Basic dTpw\r\n\r\n";
        assert_eq!(seen, [head, user, "data"].concat());
    }
    let (address, served) = http_proxy(answer.to_vec(), 100).await;
    let proxy = proxy(ProxyProtocol::Http, address, None);
    let unnamed = Destination { name: None, ..TO };
    drop(proxy.connect(unnamed).await.unwrap());
    let seen = served.await.unwrap();
    assert_eq!(
        seen,
        "CONNECT 203.0.113.9:443 HTTP/1.1\r\nHost: 203.0.113.9:443\r\n\r\n"
    );
}

#[tokio::test]
async fn a_hostile_answer_of_http_is_bounded_and_refused() {
    for (answer, failure) in [
        (
            &b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"[..],
            ProxyFailure::Refused { status: 407 },
        ),
        (
            b"HTTP/1.0 502 Bad Gateway\r\na: b\r\n\r\n<html>",
            ProxyFailure::Refused { status: 502 },
        ),
        (b"SSH-2.0-OpenSSH\r\n\r\n", ProxyFailure::Answer),
        (b"HTTP/1.1 100 Continue\r\n\r\n", ProxyFailure::Answer),
    ] {
        let (address, _served) = http_proxy(answer.to_vec(), 100).await;
        let proxy = proxy(ProxyProtocol::Http, address, None);
        assert_eq!(proxy.connect(TO).await.unwrap_err(), failure);
    }
    let endless = [&b"HTTP/1.1 200 OK\r\n"[..], &b"a: b\r\n".repeat(100_000)].concat();
    let (address, _served) = http_proxy(endless, 4096).await;
    let proxy = proxy(ProxyProtocol::Http, address, None);
    assert_eq!(proxy.connect(TO).await.unwrap_err(), ProxyFailure::Answer);
}

#[tokio::test]
async fn a_proxy_that_closes_or_is_not_there_is_a_failure() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let closing = tokio::spawn(async move {
        drop(listener.accept().await);
        drop(listener.accept().await);
    });
    for protocol in [ProxyProtocol::Http, ProxyProtocol::Socks5h] {
        let error = proxy(protocol, address, None)
            .connect(TO)
            .await
            .unwrap_err();
        assert_eq!(error, ProxyFailure::Answer);
    }
    closing.await.unwrap();
    let gone = proxy(ProxyProtocol::Http, address, None).connect(TO).await;
    assert_eq!(gone.unwrap_err(), ProxyFailure::Unreachable);
}

#[tokio::test(start_paused = true)]
async fn a_silent_proxy_is_given_up() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    for protocol in [ProxyProtocol::Http, ProxyProtocol::Socks5h] {
        let error = proxy(protocol, address, None)
            .connect(TO)
            .await
            .unwrap_err();
        assert_eq!(error, ProxyFailure::Silent);
    }
}

#[tokio::test]
async fn socks_is_told_the_name_or_the_address() {
    const ADDRESS: &[u8] = b"\x05\x01\x00\x01\xcb\x00\x71\x09\x01\xbb";
    for (protocol, request) in [
        (ProxyProtocol::Socks5h, NAME),
        (ProxyProtocol::Socks5, ADDRESS),
    ] {
        let (at, served) = socks_proxy(&[
            (HELLO, b"\x05\x00"),
            (request, b"\x05\x00\x00\x03\x03abc\x01\x02early"),
        ])
        .await;
        let stream = proxy(protocol, at, None).connect(TO).await.unwrap();
        assert_eq!(converse(stream).await, "early and late");
        assert_eq!(served.await.unwrap(), b"data");
    }
    let (at, _served) = socks_proxy(&[
        (b"\x05\x02\x00\x02", b"\x05\x02"),
        (b"\x01\x01u\x01p", b"\x01\x00"),
        (NAME, b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"),
    ])
    .await;
    let proxy = proxy(ProxyProtocol::Socks5h, at, Some("u:p"));
    assert!(proxy.connect(TO).await.is_ok());
}

#[tokio::test]
async fn a_hostile_answer_of_socks_is_refused() {
    let all: [(&[Step], ProxyFailure); 5] = [
        (
            &[(HELLO, b"\x05\xff")],
            ProxyFailure::Refused { status: 255 },
        ),
        // A user is asked for that was not offered.
        (&[(HELLO, b"\x05\x02")], ProxyFailure::Answer),
        (&[(HELLO, b"HTTP/1.1 400\r\n\r\n")], ProxyFailure::Answer),
        (
            &[
                (HELLO, b"\x05\x00"),
                (NAME, b"\x05\x02\x00\x01\0\0\0\0\0\0"),
            ],
            ProxyFailure::Refused { status: 2 },
        ),
        (
            &[(HELLO, b"\x05\x00"), (NAME, b"\x05\x00\x00\x09")],
            ProxyFailure::Answer,
        ),
    ];
    for (steps, failure) in all {
        let (at, _served) = socks_proxy(steps).await;
        let proxy = proxy(ProxyProtocol::Socks5h, at, None);
        assert_eq!(proxy.connect(TO).await.unwrap_err(), failure);
    }
}
