//! Proxies of HTTP on the host.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use msb_network::UpstreamProxy;

/// A proxy, and the heads of the requests that it got.
pub(crate) struct HttpProxy {
    pub(crate) url: UpstreamProxy,
    pub(crate) heads: mpsc::Receiver<String>,
}

impl HttpProxy {
    /// Starts a proxy that serves connections one after the other: it sends `answer` to each request, and does the rest with
    /// `serve`.
    pub(crate) fn new(answer: &'static str, serve: fn(&str, TcpStream)) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, heads) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let head = read_head(&mut stream);
                stream.write_all(answer.as_bytes()).unwrap();
                let _ = sender.send(head.clone());
                serve(&head, stream);
            }
        });
        Self {
            url: format!("http://{address}").parse().unwrap(),
            heads,
        }
    }
}

fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    String::from_utf8(head).unwrap()
}

/// Reads until the client has finished, and answers with what it read.
pub(crate) fn echo_at_the_end(_head: &str, mut stream: TcpStream) {
    let mut data = Vec::new();
    // A client of another test may break off.
    if stream.read_to_end(&mut data).is_ok() {
        let _ = stream.write_all(&data);
    }
}

/// Leads to the port of the request on this host.
pub(crate) fn tunnel(head: &str, mut stream: TcpStream) {
    let port = head.split([' ', ':']).nth(2).unwrap().parse().unwrap();
    let mut host = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let (mut from_client, mut to_host) = (stream.try_clone().unwrap(), host.try_clone().unwrap());
    let up = thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_host);
        let _ = to_host.shutdown(Shutdown::Write);
    });
    let _ = io::copy(&mut host, &mut stream);
    let _ = stream.shutdown(Shutdown::Write);
    up.join().unwrap();
}
