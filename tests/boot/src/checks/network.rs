use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use super::durability::remove;
use test_support::{TestEnv, describe, expect_code};

const NAME: &str = "checks-network";
/// The address of the lab's machine, which has no network.
const LAB_ADDRESS: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
/// The time within which a published port must be served.
const SERVE_LIMIT: Duration = Duration::from_secs(120);

/// Connects to the addresses in `argv`, as PROTOCOL:ADDRESS:PORT, and prints each result.
pub(super) const REACH: &str = r#"
import errno, socket, sys, time
for word in sys.argv[1:]:
    protocol, address, port = word.split(":")
    kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
    s = socket.socket(socket.AF_INET, kind)
    s.settimeout(300)
    began = time.monotonic()
    try:
        s.connect((address, int(port)))
        s.send(b"hello")
        said = s.recv(100).decode()
    except OSError as error:
        said = errno.errorcode.get(error.errno, str(error))
    print(protocol, said, "late" if time.monotonic() - began > 120 else "soon")
"#;

/// Sends much data to an echo server at ADDRESS PORT while it reads, and compares.
const ECHO: &str = r#"
import hashlib, os, socket, sys, threading
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
sent = os.urandom(1 << 20) * 4 + b"end"
def send():
    s.sendall(sent)
    s.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
received = hashlib.sha256()
while piece := s.recv(1 << 16):
    received.update(piece)
print("whole" if received.digest() == hashlib.sha256(sent).digest() else "not whole")
"#;

/// Serves streams and datagrams at port 80, and answers with the data in capitals.
pub(super) const SERVER: &str = r#"
import socket, threading
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("", 80))
def datagrams():
    while True:
        data, peer = u.recvfrom(2000)
        u.sendto(data.upper(), peer)
threading.Thread(target=datagrams, daemon=True).start()
s = socket.create_server(("", 80))
while True:
    c, _ = s.accept()
    c.sendall(c.makefile("rb").read().upper())
    c.close()
"#;

pub(super) const RESOLVE: &str = r#"
import socket, sys
for name in sys.argv[1:]:
    try:
        print(socket.gethostbyname(name))
    except OSError as error:
        print(type(error).__name__)
"#;

/// Returns an address of this host outside its loopback.
fn own_address() -> Result<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // Nothing is sent: only the route is needed.
    if socket.connect((Ipv4Addr::new(8, 8, 8, 8), 9)).is_ok()
        && let SocketAddr::V4(own) = socket.local_addr()?
        && !own.ip().is_loopback()
    {
        return Ok(*own.ip());
    }
    Ok(LAB_ADDRESS)
}

/// Serves echoes of streams and datagrams at the same port of every address of this host.
pub(super) fn echoes() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let port = listener.local_addr()?.port();
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut back = stream.try_clone()?;
                std::io::copy(&mut &stream, &mut back)?;
                back.shutdown(Shutdown::Write)
            });
        }
    });
    thread::spawn(move || {
        let mut buffer = [0; 2000];
        while let Ok((length, peer)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..length], peer);
        }
    });
    Ok(port)
}

/// Runs a Python script in a guest with these options and returns its output.
fn python(env: &TestEnv, options: &[&str], script: &str, arguments: &[&str]) -> Result<String> {
    let command = [&["python3", "-c", script], arguments].concat();
    let output = env.run(options, &command)?;
    expect_code(&output, 0)?;
    Ok(String::from_utf8(output.stdout)?)
}

pub(super) fn denied(env: &TestEnv) -> Result<()> {
    let (own, port) = (own_address()?, echoes()?);
    let words = [
        format!("tcp:{own}:{port}"),
        format!("udp:{own}:{port}"),
        // The address of the host's loopback.
        format!("tcp:192.0.0.1:{port}"),
        "tcp:169.254.169.254:80".to_owned(),
        "udp:169.254.169.254:80".to_owned(),
        "tcp:10.0.0.1:80".to_owned(),
        "tcp:192.168.1.1:80".to_owned(),
        "tcp:100.64.0.1:80".to_owned(),
    ];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let said = python(env, &[], REACH, &words)?;
    let lines: Vec<&str> = said.lines().collect();
    ensure!(lines.len() == words.len(), "{said}");
    for (word, line) in words.iter().zip(lines) {
        let outcome = line.split_once(' ').map(|(_, outcome)| outcome);
        ensure!(outcome == Some("EHOSTUNREACH soon"), "{word}: {line}");
    }
    // A rule for a name opens no address of the host.
    let options = ["--network", "listed", "--net-allow", "*.example"];
    let said = python(env, &options, REACH, &words[..1])?;
    ensure!(said == "tcp EHOSTUNREACH soon\n", "listed: {said}");
    Ok(())
}

pub(super) fn allowed(env: &TestEnv) -> Result<()> {
    let (own, port) = (own_address()?, echoes()?);
    let (own, port) = (own.to_string(), port.to_string());
    let rule = format!("{own}:{port}");
    let loopback = format!("127.0.0.1:{port}");
    let options = ["--net-allow", &rule, "--net-allow", &loopback];
    let said = python(env, &options, ECHO, &[&own, &port])?;
    ensure!(said == "whole\n", "{said}");
    let words = [
        format!("tcp:{rule}"),
        format!("udp:{rule}"),
        format!("tcp:host.msb.internal:{port}"),
        // Nothing listens there, and the rule does not name it.
        format!("tcp:{own}:1"),
    ];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let said = python(env, &options, REACH, &words)?;
    let expected = "tcp hello soon\nudp hello soon\ntcp hello soon\ntcp EHOSTUNREACH soon\n";
    ensure!(said == expected, "{said}");
    let options = ["--net-allow", &rule, "--net-deny", &own];
    let said = python(env, &options, REACH, &words[..1])?;
    ensure!(said == "tcp EHOSTUNREACH soon\n", "deny wins: {said}");
    Ok(())
}

pub(super) fn published(env: &TestEnv) -> Result<()> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let at = free.local_addr()?;
    let port = format!("{}:80", at.port());
    remove(env, NAME)?;
    let taken = || env.run_command(&["--name", NAME, "-p", &port], &["true"]);
    let taken = env.retried(taken, &[])?;
    expect_code(&taken, 125)?;
    ensure!(
        describe(&taken).contains(&format!("127.0.0.1:{}", at.port())),
        "{}",
        describe(&taken)
    );
    drop(free);
    // The name of the sandbox that could not be started is free immediately.
    let datagrams = format!("{port}/udp");
    let options = ["-d", "--name", NAME, "-p", &port, "-p", &datagrams];
    let line = || env.run_command(&options, &["python3", "-c", SERVER]);
    expect_code(&env.retried(line, &[])?, 0)?;
    let answered = served(at).and_then(|()| datagram_served(at));
    let stopped = env.msb().args(["stop", "--time", "1", NAME]).output()?;
    answered?;
    expect_code(&stopped, 0)?;
    remove(env, NAME)
}

/// Connects until the server runs: before that, its port refuses.
pub(super) fn served(at: SocketAddr) -> Result<()> {
    let deadline = Instant::now() + SERVE_LIMIT;
    let ask = || -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(at)?;
        stream.set_read_timeout(Some(SERVE_LIMIT))?;
        stream.write_all(b"from outside")?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    };
    loop {
        match ask() {
            Ok(answer) if answer == b"FROM OUTSIDE" => return Ok(()),
            outcome if Instant::now() > deadline => bail!("not served: {outcome:?}"),
            _ => sleep(Duration::from_millis(200)),
        }
    }
}

pub(super) fn datagram_served(at: SocketAddr) -> Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(SERVE_LIMIT))?;
    socket.send_to(b"datagram", at)?;
    let mut answer = [0; 100];
    let length = socket.recv(&mut answer).context("no datagram came back")?;
    ensure!(&answer[..length] == b"DATAGRAM", "another came back");
    Ok(())
}

pub(super) fn names(env: &TestEnv) -> Result<()> {
    let resolver = resolver()?.to_string();
    let options = ["--dns", &resolver, "--net-deny", "*.evil.example"];
    let asked = ["good.example", "www.evil.example", "localhost", NAME];
    let options = [&options[..], &["--name", NAME]].concat();
    let said = python(env, &options, RESOLVE, &asked)?;
    let expected = "198.51.100.7\ngaierror\n127.0.0.1\n192.0.0.2\n";
    ensure!(said == expected, "{said}");
    // If only listed names can be reached, only they are resolved.
    let options = ["--dns", &resolver, "--network", "listed"];
    let options = [&options[..], &["--net-allow", "good.example"]].concat();
    let said = python(env, &options, RESOLVE, &["good.example", "other.example"])?;
    ensure!(said == "198.51.100.7\ngaierror\n", "listed: {said}");
    Ok(())
}

/// Serves a resolver that knows one address for every name, 198.51.100.7, but for those that begin with `missing`.
pub(super) fn resolver() -> Result<SocketAddr> {
    resolver_to(Ipv4Addr::new(198, 51, 100, 7))
}

/// Serves a resolver that knows this address for every name, but for those that begin with `missing`.
pub(crate) fn resolver_to(address: Ipv4Addr) -> Result<SocketAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let at = socket.local_addr()?;
    thread::spawn(move || {
        let mut buffer = [0; 2000];
        while let Ok((length, client)) = socket.recv_from(&mut buffer) {
            if let Some(answer) = answer(&buffer[..length], address) {
                let _ = socket.send_to(&answer, client);
            }
        }
    });
    Ok(at)
}

/// Returns the query, then one record: the queried name, A, IN, 60 s, the address. For a missing name there is none, and
/// the code is that of a name that does not exist.
fn answer(question: &[u8], address: Ipv4Addr) -> Option<Vec<u8>> {
    let header = question.first_chunk::<12>()?;
    let name_end = 12 + question[12..].iter().position(|&byte| byte == 0)? + 1;
    let mut answer = header.to_vec();
    answer[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
    answer.extend_from_slice(question.get(12..name_end + 4)?);
    if question[13..].starts_with(b"missing") {
        answer[3] = 0x83;
        answer[7] = 0;
        return Some(answer);
    }
    answer.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
    answer.extend_from_slice(&address.octets());
    Some(answer)
}

pub(super) fn none(env: &TestEnv) -> Result<()> {
    let script = "test ! -e /sys/class/net/eth0 && cat /sys/class/net/lo/operstate; cat /proc/net/route | wc -l";
    let output = env.run(&["--network", "none"], &["sh", "-c", script])?;
    expect_code(&output, 0)?;
    ensure!(output.stdout == b"unknown\n1\n", "{}", describe(&output));
    let said = env.sh("cat /sys/class/net/eth0/mtu /etc/resolv.conf; cat /etc/hostname | wc -l")?;
    ensure!(said == "1500\nnameserver 192.0.0.1\n1\n", "{said}");
    Ok(())
}
