//! Connections through a proxy on this host.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread;

use anyhow::{Context as _, Result, ensure};
use test_support::{TestEnv, expect_code};

use super::durability::remove;
use super::network::{REACH, resolver_to};

const NAME: &str = "checks-upstream-proxy";
/// A name, and its address, which is a public one that the checks do not connect to.
const FOUND: &str = "good.example";
const ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 51, 101, 7);

/// Checks that a connection goes through the proxy by its name, that the rules decide before, and that the proxy's user is in
/// no record.
pub(super) fn used(env: &TestEnv) -> Result<()> {
    let proxy = proxy()?;
    let resolver = resolver_to(ADDRESS)?.to_string();
    let url = format!("http://{proxy}");
    let literal = reached(env, &resolver, &url, |line| line)?;
    ensure!(literal.ends_with(" without a user soon\n"), "{literal}");
    let with_user = format!("http://someone:hunter2@{proxy}");
    let of_environment = reached(env, &resolver, "env", |mut line| {
        line.env("HTTPS_PROXY", &with_user).env_remove("NO_PROXY");
        line.env_remove("no_proxy");
        line
    })?;
    ensure!(
        of_environment.ends_with(" with a user soon\n"),
        "{of_environment}"
    );
    for told in [&literal, &of_environment] {
        ensure!(
            told.starts_with(&format!("tcp EHOSTUNREACH soon\ntcp CONNECT {FOUND}:80 ")),
            "{told}"
        );
    }
    let inspected = output(env, &["inspect", NAME])?;
    ensure!(
        inspected.contains("upstream-proxy") && !inspected.contains("hunter2"),
        "{inspected}"
    );
    let log = output(env, &["logs", "--source", "network", NAME])?;
    ensure!(log.contains(FOUND) && !log.contains("hunter2"), "{log}");
    remove(env, NAME)
}

/// Returns what a guest behind a proxy reaches at a private address and by a name.
fn reached(
    env: &TestEnv,
    resolver: &str,
    proxy: &str,
    change: impl Fn(Command) -> Command,
) -> Result<String> {
    let start = || {
        let _ = remove(env, NAME);
        let own = ["--name", NAME, "--dns", resolver, "--upstream-proxy", proxy];
        let words = ["python3", "-c", REACH, "tcp:10.0.0.1:80"];
        let found = format!("tcp:{FOUND}:80");
        let command = [&words[..], &[found.as_str()]].concat();
        change(env.run_command(&own, &command))
    };
    let output: Output = env.retried(start, &[])?;
    expect_code(&output, 0)?;
    Ok(String::from_utf8(output.stdout)?)
}

fn output(env: &TestEnv, words: &[&str]) -> Result<String> {
    let output = env.msb().args(words).output()?;
    expect_code(&output, 0)?;
    Ok(String::from_utf8(output.stdout)?)
}

/// Starts a proxy that answers each connection itself: with the request, and whether it has a user.
fn proxy() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that has gone is no failure of the proxy.
            let _ = answer(stream);
        }
    });
    Ok(address)
}

fn answer(mut stream: TcpStream) -> Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    let head = String::from_utf8(head)?;
    let line = head.lines().next().context("no request")?;
    // "someone:hunter2"
    let user = if head.contains("Proxy-Authorization: Basic c29tZW9uZTpodW50ZXIy\r\n") {
        "with"
    } else {
        "without"
    };
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    stream.write_all(format!("{line} {user} a user").as_bytes())?;
    // The end is the guest's.
    stream.read_to_end(&mut Vec::new())?;
    Ok(())
}
