use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use hickory_proto::rr::RecordType;
use msb_network::{EdgeEvent, FlowEnd, NetworkLogDetail, Settings, Verdict};
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use smoltcp::socket::tcp::State;

use crate::edge_parts::{Ended, HOST, answer, exchange};
use crate::guest::{Guest, Host, TIMEOUT, datagram, read_control};
use crate::names::{ask, resolver_to};
use crate::proxies::{HttpProxy, echo_at_the_end, tunnel};
use crate::reported::Reported;

/// A public address, which nothing in these tests connects to.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(198, 51, 101, 1);
const ESTABLISHED: &str = "HTTP/1.1 200 Connection established\r\n\r\n";

/// Returns a network behind a proxy, in which every name has the public address.
fn behind(proxy: &HttpProxy, log: NetworkLogDetail) -> Host {
    let mut settings = Settings {
        upstream_proxy: Some(proxy.url.clone()),
        log,
        ..Settings::default()
    };
    let _questions = resolver_to(PUBLIC, &mut settings);
    Host::new(settings)
}

/// Sends bytes from the guest to a port of the public address, ends the direction, and returns what arrives until the end.
fn send(host: &mut Host, port: u16, bytes: &[u8]) -> Vec<u8> {
    let reports = host.reports.clone();
    let mut guest = Guest::new(&mut host.link);
    guest.connect(SocketAddrV4::new(PUBLIC, port));
    let (mut is_sent, mut received) = (false, Vec::new());
    guest.drive("the end", |socket| {
        if socket.can_send() && !is_sent {
            socket.send_slice(bytes).unwrap();
            socket.close();
            is_sent = true;
        }
        if socket.can_recv() {
            let more = socket.recv(|bytes: &mut [u8]| (bytes.len(), bytes.to_vec()));
            received.extend(more.unwrap());
        }
        reports.of_end()
    });
    received
}

#[test]
fn a_connection_goes_through_the_proxy_by_its_name() {
    let proxy = HttpProxy::new(ESTABLISHED, echo_at_the_end);
    let mut host = behind(&proxy, NetworkLogDetail::Http);
    ask(&mut host, "api.test.", RecordType::A);
    assert_eq!(send(&mut host, 8080, b"data"), b"data");
    let head = proxy.heads.recv_timeout(TIMEOUT).unwrap();
    assert!(
        head.starts_with("CONNECT api.test:8080 HTTP/1.1\r\n"),
        "{head}"
    );
    let reported = Reported::of(host);
    let close = reported.closes()[0];
    assert_eq!((close.end, close.status), (FlowEnd::Guest, None));
    assert_eq!((close.sent, close.received), (4, 4));
}

#[test]
fn a_connection_that_the_proxy_refuses_is_a_reset() {
    let answer = "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
    let proxy = HttpProxy::new(answer, |_, _| {});
    let mut host = behind(&proxy, NetworkLogDetail::Http);
    let mut guest = Guest::new(&mut host.link);
    guest.connect(SocketAddrV4::new(PUBLIC, 443));
    guest.drive("a reset", |socket| {
        (socket.state() == State::Closed).then_some(())
    });
    let head = proxy.heads.recv_timeout(TIMEOUT).unwrap();
    assert!(head.starts_with("CONNECT 198.51.101.1:443 "), "{head}");
    let reported = Reported::of(host);
    let close = reported.closes()[0];
    assert_eq!(
        (close.end, close.status),
        (FlowEnd::ProxyRefused, Some(407))
    );
}

#[test]
fn the_rules_decide_before_the_proxy_and_datagrams_are_refused() {
    let proxy = HttpProxy::new(ESTABLISHED, echo_at_the_end);
    let mut host = behind(&proxy, NetworkLogDetail::Http);
    for (address, rule) in [
        (Ipv4Addr::new(10, 0, 0, 1), "10.0.0.0/8"),
        (PUBLIC, "upstream-proxy"),
    ] {
        host.link
            .send(&datagram(5000, SocketAddrV4::new(address, 443), b"quic"));
        let control = host.link.await_frame(read_control);
        assert_eq!(control, (3, 13), "{rule}");
    }
    let reported = Reported::of(host);
    let connects = reported.connects();
    let rules: Vec<_> = connects.iter().map(|connect| &connect.rule[..]).collect();
    assert_eq!(rules, ["10.0.0.0/8", "upstream-proxy"]);
    assert!(
        connects
            .iter()
            .all(|connect| connect.verdict == Verdict::Denied)
    );
    assert!(proxy.heads.try_recv().is_err());
}

/// Returns the hello of a client that asks for a name.
fn hello(name: &'static str) -> Vec<u8> {
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(RootCertStore::empty());
    let config = Arc::new(config.with_no_client_auth());
    let mut client = ClientConnection::new(config, name.try_into().unwrap()).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}

#[test]
fn the_name_of_tls_that_is_not_ended_is_in_the_log() {
    let hello = hello("said.test");
    for (log, port, expected) in [
        (NetworkLogDetail::Http, 443, Some("said.test")),
        (NetworkLogDetail::Flows, 443, Some("said.test")),
        (NetworkLogDetail::Http, 8443, None),
        (NetworkLogDetail::Off, 443, None),
    ] {
        let proxy = HttpProxy::new(ESTABLISHED, echo_at_the_end);
        let mut host = behind(&proxy, log);
        let received = if log == NetworkLogDetail::Off {
            // No end is reported that could be waited for.
            ask(&mut host, "api.test.", RecordType::A);
            Vec::new()
        } else {
            send(&mut host, port, &hello)
        };
        let reported = Reported::of(host);
        if log == NetworkLogDetail::Off {
            assert!(reported.events.is_empty(), "{:?}", reported.events);
            assert_eq!(
                (reported.totals.queries, reported.totals.lost_records),
                (1, 0)
            );
            continue;
        }
        assert_eq!(received, hello);
        let names = reported.tls().into_iter().map(|tls| match &tls.event {
            EdgeEvent::Hello { sni, ended: false } => sni.clone(),
            event => panic!("{event:?}"),
        });
        let names: Vec<_> = names.collect();
        assert_eq!(names, Vec::from_iter(expected), "{port}");
    }
}

#[test]
fn ended_tls_goes_through_the_proxy_by_the_name_of_its_host() {
    let proxy = HttpProxy::new(ESTABLISHED, tunnel);
    let mut ended = Ended::at(PUBLIC, Some(proxy.url.clone()), None, answer);
    let port = ended.at.port();
    ask(&mut ended.host, "api.test.", RecordType::A);
    let mut tls = ended.client();
    let mut guest = Guest::new(&mut ended.host.link);
    guest.connect(ended.at);
    let request = format!("GET / HTTP/1.1\r\nhost: {HOST}:{port}\r\n\r\n");
    let answer = exchange(&mut guest, &mut tls, &request, |answer| {
        answer.ends_with("ok")
    });
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let head = proxy.heads.recv_timeout(TIMEOUT).unwrap();
    assert!(
        head.starts_with(&format!("CONNECT {HOST}:{port} ")),
        "{head}"
    );
    ended.host.end();
}
