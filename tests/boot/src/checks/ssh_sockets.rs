//! Connections of OpenSSH's clients beside commands: forwarded ones, shared ones, and those to their ssh-agent.

use std::collections::HashSet;
use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use test_support::expect_code;

use super::ssh::{HOST, Server};

/// The time in which a server of the guest has to listen.
const LIMIT: Duration = Duration::from_secs(60);
/// A server of the guest that says one line on each connection, on a TCP port and on a Unix socket.
const GREETER: &str = r#"
import socketserver, threading
class Greeter(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"hello " + self.rfile.readline())
tcp = socketserver.ThreadingTCPServer(("127.0.0.1", 8000), Greeter)
threading.Thread(target=tcp.serve_forever).start()
socketserver.ThreadingUnixStreamServer("/tmp/greeter", Greeter).serve_forever()
"#;
/// A client of the host: the line that it gets over SOCKS, a port, or a Unix socket.
const CLIENT: &str = r#"
import socket, sys
kind, where = sys.argv[1:]
if kind == "unix":
    stream = socket.socket(socket.AF_UNIX)
    stream.connect(where)
else:
    stream = socket.create_connection(("127.0.0.1", int(where)))
stream.settimeout(60)
if kind == "socks":
    stream.sendall(b"\x05\x01\x00")
    assert stream.recv(2) == b"\x05\x00"
    name = b"localhost"
    stream.sendall(b"\x05\x01\x00\x03" + bytes([len(name)]) + name + (8000).to_bytes(2, "big"))
    assert stream.recv(10)[1] == 0
stream.sendall(kind.encode() + b"\n")
print(stream.makefile().readline(), end="")
"#;
/// Asks the ssh-agent for its keys, and prints their number.
const KEYS: &str = "import os, socket; s = socket.socket(socket.AF_UNIX); s.connect(os.environ['SSH_AUTH_SOCK']); \
    s.sendall(bytes([0, 0, 0, 1, 11])); a = s.recv(4096); print(a[4], int.from_bytes(a[5:9], 'big'))";

/// Checks connections to a port and a Unix socket of the guest, by each option of ssh.
pub(super) fn forwarded(server: &Server<'_>) -> Result<()> {
    server.start_job(&["python3", "-c", GREETER])?;
    let begun = Instant::now();
    while server.ssh(&[], "test -S /tmp/greeter")?.status.code() != Some(0) {
        ensure!(
            begun.elapsed() < LIMIT,
            "the guest's server does not listen"
        );
        sleep(Duration::from_millis(100));
    }
    let (port, socks, unix) = (free_port()?, free_port()?, free_port()?);
    // The path of a Unix socket has at most 107 bytes.
    let sockets = tempfile::tempdir()?;
    let local = sockets.path().join("forwarded");
    let control = sockets.path().join("control");
    let (local, control) = (
        local.to_str().context("no text")?,
        control.to_str().context("no text")?,
    );
    let mut ssh = server.program("ssh");
    ssh.args([
        "-f",
        "-N",
        "-M",
        "-S",
        control,
        "-o",
        "ExitOnForwardFailure=yes",
    ]);
    ssh.args([
        "-L",
        &format!("{port}:127.0.0.1:8000"),
        "-D",
        &socks.to_string(),
    ]);
    ssh.args([
        "-L",
        &format!("{unix}:/tmp/greeter"),
        "-L",
        &format!("{local}:127.0.0.1:8000"),
    ]);
    // The client that goes to the background keeps its streams, so its messages go to a file.
    let messages = server.files.0.join("messages");
    let ssh = ssh.arg(HOST).stdout(Stdio::null());
    let status = ssh.stderr(fs::File::create(&messages)?).status()?;
    ensure!(status.success(), "{}", fs::read_to_string(&messages)?);
    for (kind, place) in [
        ("tcp", port.to_string()),
        ("socks", socks.to_string()),
        ("tcp", unix.to_string()),
        ("unix", local.to_owned()),
    ] {
        let mut client = Command::new("python3");
        let output = client.args(["-c", CLIENT, kind, &place]).output()?;
        expect_code(&output, 0)?;
        ensure!(
            output.stdout == format!("hello {kind}\n").as_bytes(),
            "{output:?}"
        );
    }
    // Two commands at once over the connection that forwards.
    let shared = ["-S", control];
    let mut other = server.program("ssh");
    let other = other.args(["-S", control, HOST, "sleep 1; echo other"]);
    let other = test_support::spawn(other.stdout(Stdio::piped()))?;
    ensure!(server.said(&shared, "echo one")? == "one\n", "no command");
    ensure!(
        other.wait_with_output()?.stdout == b"other\n",
        "no second command"
    );
    let mut exit = server.program("ssh");
    let exit = exit.args(["-S", control, "-O", "exit", HOST]);
    expect_code(&exit.output()?, 0)
}

/// Checks that a connection to nothing is refused with the reason, and that the guest opens no port of the host.
pub(super) fn refused(server: &Server<'_>) -> Result<()> {
    let mut refused = server.program("ssh");
    let refused = refused.args(["-W", "127.0.0.1:9", HOST]).output()?;
    ensure!(refused.status.code() != Some(0), "{refused:?}");
    let text = String::from_utf8_lossy(&refused.stderr);
    ensure!(text.contains("refused"), "{text}");
    let back = ["-o", "ExitOnForwardFailure=yes", "-R", "8001:127.0.0.1:9"];
    let back = server.ssh(&back, "true")?;
    expect_code(&back, 255)
}

/// Checks that a command asks the ssh-agent of a client that offers it, and of no other.
pub(super) fn agent(server: &Server<'_>) -> Result<()> {
    let ask = format!("python3 -c \"{KEYS}\"");
    let mut agent = Command::new("ssh-agent");
    agent.args(["ssh", "-F"]).arg(&server.config);
    let output = agent.args(["-A", HOST, &ask]).output()?;
    expect_code(&output, 0)?;
    // SSH_AGENT_IDENTITIES_ANSWER, of an agent without keys.
    ensure!(output.stdout == b"12 0\n", "{output:?}");
    let without = server.said(&["-a"], "echo \"${SSH_AUTH_SOCK-none}\"")?;
    ensure!(without == "none\n", "{without}");
    let left = server.said(&[], "ls /tmp | grep -c msb-ssh-agent || true")?;
    ensure!(left == "0\n", "{left}");
    Ok(())
}

/// Checks that the server of a client listens on no port of the host.
pub(super) fn unheard(server: &Server<'_>) -> Result<()> {
    let mut proxy = server.silent()?;
    let mut greeting = [0; 8];
    let stdout = proxy.stdout.as_mut().context("no pipe")?;
    stdout.read_exact(&mut greeting)?;
    ensure!(&greeting == b"SSH-2.0-", "{greeting:?}");
    let mut sockets = HashSet::new();
    for entry in fs::read_dir(format!("/proc/{}/fd", proxy.id()))? {
        // A descriptor may be closed meanwhile.
        if let Ok(target) = fs::read_link(entry?.path()) {
            let target = target.display().to_string();
            sockets.extend(
                target
                    .strip_prefix("socket:[")
                    .map(|inode| inode.trim_end_matches(']').to_owned()),
            );
        }
    }
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let table = fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        let heard = table.lines().find(|line| {
            let inode = line.split_whitespace().nth(9);
            inode.is_some_and(|inode| sockets.contains(inode))
        });
        if let Some(line) = heard {
            bail!("the server has a socket of the network: {line}");
        }
    }
    // It ends with its client.
    drop(proxy.stdin.take());
    proxy.wait()?;
    Ok(())
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    Ok(listener.local_addr()?.port())
}
