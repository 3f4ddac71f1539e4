//! Connections that are not ended: passed on byte by byte, or refused.

use std::sync::Arc;

use msb_tls_edge::{EdgeEvent, Refused, Served};
use rustls::RootCertStore;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::guest::{self, Guest};
use crate::lab::{HOST, Lab, Tls, within};
use crate::upstream::{HostAuthority, Upstream, ok};

/// Bytes that are no hello of the secret's host.
fn strange() -> Vec<Vec<u8>> {
    let record = |payload: &[u8]| {
        let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
        [&[22, 3, 1][..], &length, payload].concat()
    };
    vec![
        b"GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n".to_vec(),
        b"SSH-2.0-OpenSSH_9.9\r\n".to_vec(),
        vec![0; 64],
        vec![0xff; 64],
        // SSL 2.0.
        vec![0x80, 0x2e, 1, 0, 2],
        // Handshake messages that are no hellos, and a hello of no version.
        record(&[9, 9, 9, 9]),
        record(&[1, 0, 0, 2, 0, 0]),
        record(&[2, 0, 0, 4, 3, 3, 0, 0]),
        // An alert.
        vec![21, 3, 1, 0, 2, 2, 40],
        // A record longer than records are.
        vec![22, 3, 1, 0xff, 0xff, 1],
    ]
}

/// Makes the upstream of a lab one that sends back what arrives.
async fn with_echo(mut lab: Lab) -> Lab {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    lab.upstream.address = listener.local_addr().unwrap();
    lab.passes = true;
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut reader, mut writer) = socket.split();
                let _ = tokio::io::copy(&mut reader, &mut writer).await;
                let _ = writer.shutdown().await;
            });
        }
    });
    lab
}

#[tokio::test]
async fn other_protocols_are_passed_on_unchanged() {
    let lab = with_echo(Lab::new(ok()).await).await;
    for bytes in strange() {
        let (mut guest, served) = lab.open();
        let mut echo = Vec::new();
        within(async {
            guest.write_all(&bytes).await.unwrap();
            guest.shutdown().await.unwrap();
            guest.read_to_end(&mut echo).await.unwrap();
        })
        .await;
        assert_eq!(echo, bytes);
        let outcome = within(served).await.unwrap();
        assert!(
            matches!(outcome, Served::Passed { is_clean: true }),
            "{outcome:?}"
        );
    }
    assert!(lab.log.all().is_empty());
}

#[tokio::test]
async fn other_protocols_are_refused_if_no_rule_allows_them() {
    let lab = Lab::new(ok()).await;
    for bytes in strange() {
        let (mut guest, served) = lab.open();
        guest.write_all(&bytes).await.unwrap();
        guest.shutdown().await.unwrap();
        let outcome = within(served).await.unwrap();
        assert!(
            matches!(outcome, Served::Refused(Refused::NotAllowed)),
            "{outcome:?}"
        );
    }
    assert_eq!(lab.upstream.handshakes(), 0);
}

/// Has a guest connect to an attacker with a certificate of its own for its own name.
async fn with_attacker(passes: bool) -> (Lab, Arc<RootCertStore>) {
    let (authority, trusted) = (HostAuthority::new(), HostAuthority::new());
    let config = authority.config(&["attacker.example", "192.0.2.1"], &["http/1.1"]);
    let upstream = Upstream::http(config, ok()).await;
    let mut lab = Lab::with(upstream, &trusted, &format!("K@{HOST}"), &[]);
    lab.passes = passes;
    (lab, authority.roots())
}

#[tokio::test]
async fn a_connection_for_another_name_is_passed_on_with_the_placeholder() {
    let (lab, roots) = with_attacker(true).await;
    for name in ["attacker.example", "192.0.2.1"] {
        // The guest sees the attacker's own certificate: TLS is not ended.
        let tls = lab
            .tls_with(Arc::clone(&roots), name, &["http/1.1"])
            .await
            .unwrap();
        let guest = Guest::http1(tls).await;
        guest::text(guest.get_with("/", &lab).await.unwrap()).await;
        let outcome = guest.close().await;
        assert!(matches!(outcome, Served::Passed { .. }), "{outcome:?}");
    }
    let token = format!("Bearer {}", lab.token);
    let seen = lab.upstream.seen();
    assert_eq!(seen.len(), 2);
    assert!(
        seen.iter()
            .all(|request| request.header("authorization") == token)
    );
    // The second guest stated no name.
    let hello = EdgeEvent::Hello {
        sni: "attacker.example".to_owned(),
        ended: false,
    };
    assert_eq!(lab.log.all(), [hello]);
}

#[tokio::test]
async fn a_connection_for_another_name_is_refused_if_no_rule_allows_it() {
    let (lab, roots) = with_attacker(false).await;
    for name in ["attacker.example", "192.0.2.1"] {
        assert!(lab.tls_with(Arc::clone(&roots), name, &[]).await.is_err());
    }
    assert_eq!(lab.upstream.handshakes(), 0);
}

#[tokio::test]
async fn a_host_that_refuses_connections_refuses_the_guest() {
    let mut lab = Lab::new(ok()).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    lab.upstream.address = listener.local_addr().unwrap();
    drop(listener);
    assert!(lab.tls(&["http/1.1"]).await.is_err());
}

#[tokio::test]
async fn another_port_is_not_that_of_the_secret() {
    let authority = HostAuthority::new();
    let config = authority.config(&[HOST], &["http/1.1"]);
    let upstream = Upstream::http(config, ok()).await;
    let mut lab = Lab::with(upstream, &authority, &format!("K@{HOST}:8443"), &[]);
    lab.passes = true;
    let Tls { mut stream, served } = lab
        .tls_with(authority.roots(), HOST, &["http/1.1"])
        .await
        .unwrap();
    let _ = stream.shutdown().await;
    drop(stream);
    assert!(matches!(
        within(served).await.unwrap(),
        Served::Passed { .. }
    ));
}
