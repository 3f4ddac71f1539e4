//! Rules of the network that change while a sandbox runs, and questions about destinations that they deny.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use test_support::{TestEnv, expect_code, finish, schema, spawn};

use super::asks::{msb, output};
use super::durability::remove;
use super::listener::Listener;
use super::network::REACH;

const NAME: &str = "checks-network-rules";
const FORK: &str = "checks-network-rules-fork";
const ASKING: &str = "checks-network-asks";
/// The gateway, which leads to the host's loopback.
const GATEWAY: &str = "192.0.0.1";
/// An address of a private network, where nothing answers.
const PRIVATE: &str = "10.255.255.1:5432";

/// Longer than a machine takes to notice that a client is gone.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Keeps a connection to ADDRESS PORT open, and prints its begin and its end.
const HOLD: &str = r#"
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.send(b"hello")
print(s.recv(5).decode(), flush=True)
try:
    s.recv(1)
except OSError:
    pass
print("ended", flush=True)
"#;

/// Opens a connection to each of 13 private addresses, and prints the number of those that are refused while the others
/// wait.
const MANY: &str = r#"
import select, socket, sys
waiting = []
for number in range(1, 14):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex((f"10.255.255.{number}", 80))
    waiting.append(s)
poll = select.poll()
for s in waiting:
    poll.register(s, select.POLLOUT)
print(len(poll.poll(60_000)), flush=True)
"#;

/// Checks that rules change for new connections and, if it is asked for, open ones, and that they stay.
pub(super) fn changed(env: &TestEnv) -> Result<()> {
    let port = serve()?;
    let rule = format!("127.0.0.1:{port}");
    let start = || {
        let _ = (remove(env, FORK), remove(env, NAME));
        let options = ["-d", "--name", NAME, "--network", "listed"];
        env.run_command(&options, &["sleep", "1000"])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    ensure!(reach(env, NAME, port)? == "EHOSTUNREACH");
    output(env, &["snapshot", "create", &format!("{NAME}@before")])?;
    output(env, &["network", "allow", NAME, &rule, "a.example:443"])?;
    ensure!(reach(env, NAME, port)? == "HELLO");
    let port_text = port.to_string();
    let holding = ["exec", NAME, "python3", "-uc", HOLD, GATEWAY, &port_text];
    let mut held = spawn(env.msb().args(holding))?;
    let mut lines = BufReader::new(held.stdout.take().context("no pipe")?).lines();
    ensure!(lines.next().context("no line")?? == "HELLO");
    // Without --close the connection stays.
    output(env, &["network", "deny", NAME, &rule])?;
    ensure!(reach(env, NAME, port)? == "EHOSTUNREACH");
    output(env, &["network", "deny", "--close", NAME, "10.0.0.0/8"])?;
    ensure!(lines.next().context("no line")?? == "ended");
    finish(held, &[])?;
    output(env, &["network", "allow", NAME, &rule])?;
    refused(env)?;
    killed(env, port, &rule)?;
    kept(env, port)?;
    logged(env, &rule)?;
    output(env, &["rm", "-f", FORK, NAME]).map(drop)
}

/// Checks that what cannot be followed changes nothing.
fn refused(env: &TestEnv) -> Result<()> {
    let before = output(env, &["network", "show", NAME])?;
    for (words, said) in [
        (
            &["allow", NAME, "https://api.example.com/v1/*:GET"][..],
            "does not end the TLS of api.example.com",
        ),
        (&["allow", NAME, "a b"], "is not a rule"),
        (&["rm", NAME, "no.example"], "has no rule no.example"),
        (&["set", NAME, "none"], "cannot become none"),
    ] {
        let ended = msb(env, &[&["network"], words].concat())?;
        expect_code(&ended, 125)?;
        let text = String::from_utf8_lossy(&ended.stderr).into_owned();
        ensure!(text.contains(said), "{text}");
    }
    let after = output(env, &["network", "show", NAME])?;
    ensure!(before == after, "{before}\n{after}");
    Ok(())
}

/// Checks that the machine follows the rules that are kept, whenever the command is killed that changes them. The rule is
/// kept at the begin and at the end.
fn killed(env: &TestEnv, port: u16, rule: &str) -> Result<()> {
    for (verb, after_ms) in [0, 5, 10, 15, 20, 30, 45]
        .into_iter()
        .flat_map(|ms| [("deny", ms), ("allow", ms)])
    {
        let mut changing = spawn(env.msb().args(["network", verb, NAME, rule]))?;
        thread::sleep(Duration::from_millis(after_ms));
        changing.kill()?;
        changing.wait()?;
        let policy = output(env, &["network", "show", "--format", "json", NAME])?;
        let policy: Value = serde_json::from_str(&policy)?;
        let allowed = policy["allow"].as_array().context("no rules")?;
        let expected = if allowed.iter().any(|kept| kept == rule) {
            "HELLO"
        } else {
            "EHOSTUNREACH"
        };
        let deadline = Instant::now() + TIMEOUT;
        while reach(env, NAME, port)? != expected {
            ensure!(
                Instant::now() < deadline,
                "{verb} killed after {after_ms} ms: not {expected}"
            );
        }
    }
    output(env, &["network", "allow", NAME, rule]).map(drop)
}

/// Checks that a rollback, a restart and a fork leave the rules as they are.
fn kept(env: &TestEnv, port: u16) -> Result<()> {
    output(env, &["stop", "-t", "1", NAME])?;
    output(env, &["rollback", &format!("{NAME}@before")])?;
    output(env, &["start", NAME])?;
    ensure!(reach(env, NAME, port)? == "HELLO");
    output(env, &["fork", NAME, FORK])?;
    let show = |name| output(env, &["network", "show", "--format", "json", name]);
    let (own, forked) = (show(NAME)?, show(FORK)?);
    ensure!(own == forked, "{own}\n{forked}");
    schema::judge("network", &own)?;
    // A sandbox that is stopped gets the rules at its start.
    output(env, &["stop", "-t", "1", NAME])?;
    output(env, &["network", "set", NAME, "listed"])?;
    output(env, &["start", NAME])?;
    ensure!(reach(env, NAME, port)? == "EHOSTUNREACH");
    Ok(())
}

/// Checks that the log has the changes, and the end of the connection that was closed.
fn logged(env: &TestEnv, rule: &str) -> Result<()> {
    let logs = ["logs", "--source", "network", "--format", "json", NAME];
    let (mut allowed, mut revoked) = (false, false);
    for line in output(env, &logs)?.lines() {
        schema::judge("logs-network", line)?;
        let record: Value = serde_json::from_str(line)?;
        let rules = record["allow"].as_array();
        let is_new = rules.is_some_and(|rules| rules.iter().any(|new| new == rule));
        allowed |= record["event"] == "rules" && record["by"] == "host" && is_new;
        revoked |= record["end"] == "revoked";
    }
    ensure!(allowed && revoked, "allowed: {allowed}, revoked: {revoked}");
    Ok(())
}

/// Checks the answers to questions about names and addresses.
pub(super) fn asked(env: &TestEnv) -> Result<()> {
    let port = serve()?;
    let start = || {
        let _ = remove(env, ASKING);
        let options = ["-d", "--name", ASKING, "--network", "listed", "--net-ask"];
        env.run_command(&options, &["sleep", "1000"])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    // No client listens.
    ensure!(connected(env, PRIVATE)? == "EHOSTUNREACH");
    let mut listener = Listener::new(env, ASKING)?;
    // The host is not asked about, whoever listens.
    ensure!(reach(env, ASKING, port)? == "EHOSTUNREACH");
    for (answer, rules) in [("deny", 0), ("allow", 0), ("allow,always", 1)] {
        let name = format!("{}.example", answer.replace(',', "-"));
        let look = format!("getent ahostsv4 {name}");
        let asking = spawn(env.msb().args(["exec", ASKING, "sh", "-c", &look]))?;
        let id = listener.asked(&name)?;
        output(
            env,
            &["asks", ASKING, "--answer", &format!("{id}={answer}")],
        )?;
        // No resolver of the host knows the name.
        expect_code(&finish(asking, &[])?, 2)?;
        let json = output(env, &["network", "show", "--format", "json", ASKING])?;
        let policy: Value = serde_json::from_str(&json)?;
        let kept = policy["allow"].as_array().context("no rules")?;
        ensure!(kept.len() == rules, "{answer}: {json}");
    }
    let asking = spawn(
        env.msb()
            .args(["exec", ASKING, "python3", "-c", REACH, &target(PRIVATE)]),
    )?;
    let id = listener.asked(PRIVATE)?;
    output(env, &["asks", ASKING, "--answer", &format!("{id}=deny")])?;
    let ended = finish(asking, &[])?;
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    ensure!(said.contains("EHOSTUNREACH"), "{said}");
    let many = output(env, &["exec", ASKING, "python3", "-c", MANY])?;
    ensure!(many.trim() == "1", "{many}");
    listener.end()?;
    let text = output(env, &["logs", "--source", "asks", ASKING])?;
    for part in [
        "a process asks to connect to deny.example",
        "allowed by msb asks, and allow-always.example=allow",
    ] {
        ensure!(text.contains(part), "{part}: {text}");
    }
    let text = output(env, &["logs", "--source", "network", ASKING])?;
    ensure!(text.contains("by asked"), "{text}");
    output(env, &["rm", "-f", ASKING]).map(drop)
}

/// Connects from a sandbox to a port of the host, and returns what was answered, or the error.
fn reach(env: &TestEnv, name: &str, port: u16) -> Result<String> {
    said(env, name, &format!("tcp:{GATEWAY}:{port}"))
}

fn connected(env: &TestEnv, address: &str) -> Result<String> {
    said(env, ASKING, &target(address))
}

fn target(address: &str) -> String {
    format!("tcp:{address}")
}

fn said(env: &TestEnv, name: &str, target: &str) -> Result<String> {
    let line = output(env, &["exec", name, "python3", "-c", REACH, target])?;
    let word = line.split(' ').nth(1).context("no answer")?;
    Ok(word.to_owned())
}

/// Serves at a port of the loopback: answers each beginning in capitals, and keeps the connection.
fn serve() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut said = [0; 5];
            if stream.read_exact(&mut said).is_ok() {
                let _ = stream.write_all(&said.to_ascii_uppercase());
                kept.push(stream);
            }
        }
    });
    Ok(port)
}
