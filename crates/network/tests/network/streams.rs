use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use msb_network::{GATEWAY_ADDRESS, Network, ProxyVariables, Settings};
use smoltcp::socket::tcp::State;

use crate::guest::{Guest, Host, TIMEOUT, allowing};

/// Returns a listener of the host, and its address as the guest sees it.
fn listener() -> (TcpListener, SocketAddrV4) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, SocketAddrV4::new(GATEWAY_ADDRESS, port))
}

fn allowed(at: SocketAddrV4) -> Settings {
    allowing(&[format!("127.0.0.1:{}", at.port())])
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length)
        .map(|index| (index * 7 / 3 % 251) as u8)
        .collect()
}

#[test]
fn a_stream_is_whole_in_both_directions_and_ends() {
    let (listener, at) = listener();
    let echo = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        stream.write_all(&bytes).unwrap();
    });
    let mut host = Host::new(allowed(at));
    let sent = pattern(1 << 20);
    let (mut rest, mut received) = (&sent[..], Vec::new());
    let mut guest = Guest::new(&mut host.link);
    guest.connect(at);
    guest.drive("what was sent", |socket| {
        if socket.can_send() && !rest.is_empty() {
            rest = &rest[socket.send_slice(rest).unwrap()..];
            if rest.is_empty() {
                socket.close();
            }
        }
        while socket.can_recv() {
            socket
                .recv(|bytes| {
                    received.extend_from_slice(bytes);
                    (bytes.len(), ())
                })
                .unwrap();
        }
        matches!(socket.state(), State::TimeWait | State::Closed).then_some(())
    });
    assert!(received == sent, "{} of {}", received.len(), sent.len());
    echo.join().unwrap();
    host.end();
}

#[test]
fn a_closed_port_refuses() {
    let (listener, at) = listener();
    drop(listener);
    let mut host = Host::new(allowed(at));
    let mut guest = Guest::new(&mut host.link);
    guest.connect(at);
    guest.drive("a refusal", |socket| {
        (socket.state() == State::Closed).then_some(())
    });
    host.end();
}

#[test]
fn a_reset_is_passed_on_to_the_host() {
    let (listener, at) = listener();
    let mut host = Host::new(allowed(at));
    let mut guest = Guest::new(&mut host.link);
    guest.connect(at);
    guest.drive("a connection", |socket| socket.may_send().then_some(()));
    let (mut stream, _) = listener.accept().unwrap();
    guest.drive("the end", |socket| {
        socket.abort();
        Some(())
    });
    let error = stream.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    host.end();
}

#[test]
fn a_reset_is_passed_on_to_the_guest() {
    let (listener, at) = listener();
    let mut host = Host::new(allowed(at));
    let mut guest = Guest::new(&mut host.link);
    guest.connect(at);
    guest.drive("a connection", |socket| socket.may_send().then_some(()));
    let (stream, _) = listener.accept().unwrap();
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    drop(stream);
    guest.drive("a reset", |socket| {
        (socket.state() == State::Closed).then_some(())
    });
    host.end();
}

#[test]
fn a_guest_that_does_not_read_stops_the_host() {
    let (listener, at) = listener();
    let written = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&written);
    let flood = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let chunk = pattern(16 * 1024);
        // The write fails when the network has ended.
        while let Ok(length) = stream.write(&chunk) {
            counted.fetch_add(length, Ordering::Relaxed);
        }
    });
    let mut host = Host::new(allowed(at));
    let mut guest = Guest::new(&mut host.link);
    guest.connect(at);
    let mut seen = (0, std::time::Instant::now());
    guest.drive("a halt", |_| {
        let now = written.load(Ordering::Relaxed);
        if now != seen.0 {
            seen = (now, std::time::Instant::now());
        }
        (now > 0 && seen.1.elapsed() > Duration::from_millis(500)).then_some(())
    });
    // The bound covers the buffers of the host's kernel and of the network.
    assert!(written.load(Ordering::Relaxed) < 16 << 20);
    host.end();
    flood.join().unwrap();
}

#[test]
fn a_published_port_leads_into_the_guest() {
    let settings = Settings {
        publish: vec!["80".parse().unwrap()],
        ..Settings::default()
    };
    let mut host = Host::new(settings);
    // The host has chosen the port.
    let at = host.published[0].host.into();
    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect_timeout(&at, TIMEOUT).unwrap();
        stream.write_all(b"to the guest").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    });
    let mut guest = Guest::new(&mut host.link);
    guest.listen(80);
    let mut received = Vec::new();
    guest.drive("what the client sent", |socket| {
        if socket.can_recv() {
            let read = |bytes: &mut [u8]| (bytes.len(), bytes.to_vec());
            received.extend(socket.recv(read).unwrap());
        }
        if socket.state() == State::CloseWait && socket.can_send() {
            socket.send_slice(b"and back").unwrap();
            socket.close();
        }
        (socket.state() == State::Closed && !received.is_empty()).then_some(())
    });
    assert_eq!(received, b"to the guest");
    assert_eq!(client.join().unwrap(), b"and back");
    host.end();
}

#[test]
fn a_published_port_that_is_taken_is_named() {
    let (listener, at) = listener();
    let settings = Settings {
        publish: vec![format!("{}:80", at.port()).parse().unwrap()],
        ..Settings::default()
    };
    let variables = ProxyVariables::default();
    let error = Network::bind(&settings, None, &variables).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        source.contains(&format!("127.0.0.1:{}", at.port())),
        "{source}"
    );
    assert!(msb_network::check_published(&settings.publish).is_err());
    drop(listener);
    assert!(msb_network::check_published(&settings.publish).is_ok());
}
