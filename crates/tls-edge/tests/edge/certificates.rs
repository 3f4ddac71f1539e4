//! Hosts that do not prove their name, guests that do not accept the sandbox's certificate, and hosts that end TLS
//! badly.

use std::sync::Arc;

use msb_tls_edge::{EdgeEvent, HttpVerdict, Refused, Served};
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::guest::{self, Guest};
use crate::lab::{HOST, Lab};
use crate::upstream::{HostAuthority, Upstream, ok};

/// Checks that a host with this certificate gets no request, and that the guest learns why.
async fn assert_unproved(trusted: &HostAuthority, config: Arc<ServerConfig>, reason: &str) {
    let upstream = unproved(trusted, config, reason).await;
    assert_eq!(upstream.handshakes(), 0);
}

/// Does the same for a host whose handshake is complete before it is refused.
async fn unproved(trusted: &HostAuthority, config: Arc<ServerConfig>, reason: &str) -> Upstream {
    let upstream = Upstream::http(config, ok()).await;
    let lab = Lab::with(upstream, trusted, &format!("K@{HOST}"), &[]);
    for guest in lab.guests().await {
        for _ in 0..2 {
            let answer = guest.get_with("/", &lab).await.unwrap();
            assert_eq!(answer.status(), 502);
            assert_eq!(answer.headers()["x-msb-refused"], "upstream.certificate");
            let text = guest::text(answer).await;
            assert!(text.contains(reason) && text.contains(HOST), "{text}");
        }
        guest.close().await;
    }
    assert!(lab.upstream.seen().is_empty());
    let reasons: Vec<_> = lab
        .log
        .all()
        .into_iter()
        .filter_map(|event| match event {
            EdgeEvent::UpstreamCertificate { sni, reason } if sni == HOST => Some(reason),
            _ => None,
        })
        .collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(
        reasons.iter().all(|told| told.contains(reason)),
        "{reasons:?}"
    );
    let records = lab.log.http();
    assert_eq!(records.len(), 4);
    for record in records {
        assert_eq!(record.verdict, HttpVerdict::Denied);
        assert!(record.secrets.is_empty());
    }
    lab.upstream
}

#[tokio::test]
async fn a_host_with_a_certificate_for_another_name_is_refused() {
    let authority = HostAuthority::new();
    let config = authority.config(&["attacker.example"], &["http/1.1"]);
    assert_unproved(&authority, config, "is for another name").await;
}

#[tokio::test]
async fn a_host_with_an_expired_certificate_is_refused() {
    let authority = HostAuthority::new();
    let config = authority.expired(&[HOST]);
    assert_unproved(&authority, config, "has expired").await;
}

#[tokio::test]
async fn a_host_with_a_certificate_of_an_unknown_authority_is_refused() {
    let (authority, trusted) = (HostAuthority::new(), HostAuthority::new());
    let config = authority.config(&[HOST], &["http/1.1"]);
    assert_unproved(&trusted, config, "not signed by an authority").await;
}

#[tokio::test]
async fn a_guest_that_does_not_trust_the_sandbox_s_authority_is_reported() {
    let lab = Lab::new(ok()).await;
    let roots = HostAuthority::new().roots();
    let refused = lab.tls_with(roots, HOST, &["http/1.1"]).await;
    assert!(refused.is_err());
    let alert = EdgeEvent::TlsRefused {
        sni: HOST.to_owned(),
        alert: Some("unknown_ca".to_owned()),
    };
    wait_for(&lab, &alert).await;
    assert_eq!(lab.upstream.seen().len(), 0);
}

#[tokio::test]
async fn a_guest_that_closes_during_the_handshake_is_reported() {
    let lab = Lab::new(ok()).await;
    let hello = {
        let provider = crate::upstream::provider();
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        let name = crate::lab::server_name(HOST);
        let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let mut hello = Vec::new();
        client.write_tls(&mut hello).unwrap();
        hello
    };
    let (mut guest, served) = lab.open();
    guest.write_all(&hello).await.unwrap();
    guest.shutdown().await.unwrap();
    let outcome = crate::lab::within(served).await.unwrap();
    assert!(
        matches!(outcome, Served::Refused(Refused::Handshake(_))),
        "{outcome:?}"
    );
    let closed = EdgeEvent::TlsRefused {
        sni: HOST.to_owned(),
        alert: None,
    };
    assert!(lab.log.all().contains(&closed), "{:?}", lab.log.all());
}

async fn wait_for(lab: &Lab, event: &EdgeEvent) {
    crate::lab::within(async {
        while !lab.log.all().contains(event) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_host_with_large_certificates_is_not_used() {
    let authority = HostAuthority::new();
    let others = (0..600).map(|number| format!("host-{number}.of-many.example.net"));
    let others: Vec<_> = others.collect();
    let mut names = vec![HOST];
    names.extend(others.iter().map(String::as_str));
    let config = authority.config(&names, &["http/1.1"]);
    let upstream = unproved(&authority, config, "certificates are too large").await;
    assert_eq!(upstream.handshakes(), 2);
}

/// Returns the answer of an upstream that sends these bytes and closes without the end of TLS.
async fn without_close_notify(answer: &'static str) -> (Vec<u8>, bool, Served) {
    let authority = HostAuthority::new();
    let config = authority.config(&[HOST], &["http/1.1"]);
    let upstream = Upstream::raw(config, move |mut stream| async move {
        let mut head = [0; 4096];
        let _ = stream.read(&mut head).await;
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.flush().await;
        let (socket, _) = stream.get_mut();
        let _ = socket.shutdown().await;
    })
    .await;
    let lab = Lab::with(upstream, &authority, &format!("K@{HOST}"), &[]);
    let guest: Guest = lab.http1().await;
    let answer = guest.get_with("/", &lab).await;
    let (bytes, is_broken) = guest::bytes_of(answer).await;
    (bytes, is_broken, guest.closed().await)
}

#[tokio::test]
async fn an_answer_of_known_length_is_whole_without_the_end_of_tls() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
    let (bytes, is_broken, _) = without_close_notify(answer).await;
    assert_eq!((bytes.as_slice(), is_broken), (&b"hello"[..], false));
    let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let (bytes, is_broken, _) = without_close_notify(answer).await;
    assert_eq!((bytes.as_slice(), is_broken), (&b"hello"[..], false));
}

#[tokio::test]
async fn an_answer_without_a_length_is_broken_off_without_the_end_of_tls() {
    for answer in [
        "HTTP/1.1 200 OK\r\n\r\nhello",
        "HTTP/1.0 200 OK\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ] {
        let (bytes, is_broken, outcome) = without_close_notify(answer).await;
        assert!(is_broken, "{answer}");
        assert!(b"hello".starts_with(&bytes), "{bytes:?}");
        assert!(
            matches!(outcome, Served::Ended { is_clean: false }),
            "{outcome:?}"
        );
    }
}
