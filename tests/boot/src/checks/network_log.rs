//! The log of a sandbox's network: connections, refusals and queries, field by field.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Output};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use test_support::{TestEnv, expect_code, schema, spawn};

use super::durability::remove;
use super::network::{REACH, RESOLVE, echoes, resolver};

const NAME: &str = "checks-network-log";
/// The time within which the counters have to be those of what went out.
const COUNTERS_LIMIT: Duration = Duration::from_secs(60);

/// Asks for a name that would end a line, and begin a false one, and prints the code of the answer.
const FORGE: &str = r#"
import socket
label = b'x\n{"event":"connect","verdict":"allowed"}\x1b[2J'
query = b"\0\x07\1\0\0\1\0\0\0\0\0\0" + bytes([len(label)]) + label + b"\0\0\1\0\1"
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(60)
s.sendto(query, ("192.0.0.1", 53))
print(s.recv(512)[3] & 15)
"#;

/// Checks the log of connections that are allowed and refused, and of names that exist, do not exist, and are denied.
pub(super) fn recorded(env: &TestEnv) -> Result<()> {
    let (allowed, refused) = (echoes()?, echoes()?);
    let resolver = resolver()?.to_string();
    let rule = format!("127.0.0.1:{allowed}");
    let start = || {
        let _ = remove(env, NAME);
        let own = ["-d", "--name", NAME, "--dns", &resolver];
        let rules = ["--net-allow", &rule, "--net-deny", "*.evil.example"];
        env.run_command(&[&own[..], &rules].concat(), &["sleep", "1000"])
    };
    expect_code(&env.retried(start, &[])?, 0)?;
    let names = ["good.example", "missing.example", "www.evil.example"];
    let resolved = python(env, RESOLVE, &names)?;
    ensure!(
        resolved == "198.51.100.7\ngaierror\ngaierror\n",
        "{resolved}"
    );
    ensure!(
        python(env, FORGE, &[])? == "5\n",
        "the query was not refused"
    );
    let words = [
        format!("tcp:192.0.0.1:{refused}"),
        "tcp:198.51.100.7:80".to_owned(),
        "tcp:10.0.0.1:80".to_owned(),
        "tcp:10.0.0.1:80".to_owned(),
        format!("udp:192.0.0.1:{allowed}"),
        format!("tcp:192.0.0.1:{allowed}"),
    ];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let reached = python(env, REACH, &words)?;
    let denied = "tcp EHOSTUNREACH soon\n".repeat(4);
    let expected = format!("{denied}udp hello soon\ntcp hello soon\n");
    ensure!(reached == expected, "{reached}");
    let log = Log::up_to_the_first_end(env)?;
    queries(&log)?;
    refusals(&log, refused)?;
    flows(&log, allowed, &rule)?;
    told(env)?;
    counted(env)?;
    opened(env, &log, refused)?;
    kept(env, &log)
}

/// The records of a log.
struct Log(Vec<Value>);

impl Log {
    /// Follows the log until a flow has ended.
    fn up_to_the_first_end(env: &TestEnv) -> Result<Self> {
        let words = [
            "logs", "-f", "--source", "network", "--format", "json", NAME,
        ];
        let mut follower = Follower::new(spawn(env.msb().args(words))?)?;
        let mut records = Vec::new();
        loop {
            let line = follower.line()?;
            schema::judge("logs-network", &line)?;
            let record: Value = serde_json::from_str(&line)?;
            let is_end = record["event"] == "close";
            records.push(record);
            if is_end {
                return Ok(Self(records));
            }
        }
    }

    /// Returns the records of an event with this value, without their times.
    fn of(&self, event: &str, key: &str, value: &Value) -> Result<Vec<Value>> {
        let is_it = |record: &&Value| record["event"] == event && record[key] == *value;
        let mut found: Vec<Value> = self.0.iter().filter(is_it).cloned().collect();
        for record in &mut found {
            let fields = record.as_object_mut().context("no object")?;
            fields.remove("time").context("no time")?;
        }
        ensure!(!found.is_empty(), "no {event} of {value}: {:?}", self.0);
        Ok(found)
    }

    /// Checks that the only record of an event with the value of a key is this one.
    fn expect(&self, event: &str, key: &str, expected: &Value) -> Result<()> {
        let found = self.of(event, key, &expected[key])?;
        ensure!(found == [expected.clone()], "{found:?}, not {expected}");
        Ok(())
    }
}

/// `msb logs -f`, which is killed when it is dropped.
struct Follower {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Follower {
    fn new(mut child: Child) -> Result<Self> {
        let output = child.stdout.take().context("no pipe")?;
        let lines = BufReader::new(output);
        Ok(Self { child, lines })
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the log has ended");
        Ok(line)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn queries(log: &Log) -> Result<()> {
    let dns = |name: &str, verdict: &str, rule: &str, code: &str| {
        json!({
            "event": "dns", "name": name, "type": "A", "verdict": verdict, "rule": rule, "code": code,
        })
    };
    for expected in [
        dns("good.example", "allowed", "outbound", "NOERROR"),
        dns("missing.example", "allowed", "outbound", "NXDOMAIN"),
        dns("www.evil.example", "denied", "*.evil.example", "NXDOMAIN"),
    ] {
        // A C library may ask again.
        let found = log.of("dns", "name", &expected["name"])?;
        ensure!(
            found.first() == Some(&expected),
            "{found:?}, not {expected}"
        );
    }
    let forged = &log.of("dns", "code", &"REFUSED".into())?[0];
    ensure!(forged["rule"] == "never", "{forged}");
    let name = forged["name"].as_str().context("no name")?;
    ensure!(
        name.bytes().all(|byte| (b'!'..=b'~').contains(&byte)),
        "{name}"
    );
    Ok(())
}

fn refusals(log: &Log, refused: u16) -> Result<()> {
    let connect = |address: &str, port: u16, rule: &str| {
        json!({
            "event": "connect", "proto": "tcp", "address": address, "port": port, "verdict": "denied",
            "rule": rule, "hint": format!("--net-allow {address}:{port}"),
        })
    };
    let host = connect("127.0.0.1", refused, "127.0.0.0/8");
    log.expect("connect", "port", &host)?;
    // The guest resolved a name to this address.
    let mut named = connect("198.51.100.7", 80, "198.51.100.0/24");
    named["name"] = "good.example".into();
    log.expect("connect", "address", &named)?;
    // The second attempt is counted: it may be in a record of its own.
    let first = connect("10.0.0.1", 80, "10.0.0.0/8");
    let is_equal = |record: &Value| ["rule", "hint"].iter().all(|key| record[key] == first[key]);
    let equal = log.0.iter().filter(|record| is_equal(record));
    let counts: Vec<u64> = equal
        .map(|record| record["count"].as_u64().unwrap_or(1))
        .collect();
    ensure!(counts.first() == Some(&1), "{counts:?}");
    Ok(())
}

fn flows(log: &Log, allowed: u16, rule: &str) -> Result<()> {
    let connect = |flow: u64, proto: &str| {
        json!({
            "event": "connect", "flow": flow, "proto": proto, "address": "127.0.0.1", "port": allowed,
            "verdict": "allowed", "rule": rule,
        })
    };
    log.expect("connect", "flow", &connect(1, "udp"))?;
    log.expect("connect", "flow", &connect(2, "tcp"))?;
    let mut closes = log.of("close", "flow", &2.into())?;
    ensure!(closes.len() == 1, "{closes:?}");
    let close = &mut closes[0];
    let fields = close.as_object_mut().context("no object")?;
    let ms = fields.remove("ms").and_then(|ms| ms.as_u64());
    ensure!(ms.is_some_and(|ms| ms < 60_000), "{ms:?}");
    let expected = json!({"event": "close", "flow": 2, "sent": 5, "received": 5, "end": "guest"});
    ensure!(*close == expected, "{close}");
    Ok(())
}

/// Checks that refusals are notices of the machine, and lines without control characters for people.
fn told(env: &TestEnv) -> Result<()> {
    let machine = output(env, &["logs", "--source", "machine", NAME])?;
    let notice = "msb: refused 10.0.0.1:80 (private range); --net-allow 10.0.0.1:80 opens it\n";
    ensure!(machine.matches(notice).count() == 1, "{machine}");
    let denied = output(env, &["logs", "--source", "network", "--denied", NAME])?;
    ensure!(
        denied.lines().all(|line| line.contains(" refused ")),
        "{denied}"
    );
    let part = " refused tcp good.example:80 (198.51.100.7) by 198.51.100.0/24; --net-allow 198.51.100.7:80 ";
    ensure!(denied.contains(part), "{denied}");
    let is_plain = |character: char| character == '\n' || !character.is_control();
    ensure!(denied.chars().all(is_plain), "{denied:?}");
    Ok(())
}

/// Checks the counters, as JSON and as OpenMetrics.
fn counted(env: &TestEnv) -> Result<()> {
    let deadline = Instant::now() + COUNTERS_LIMIT;
    let stats = loop {
        let stats = output(env, &["stats", "--no-stream", "--format", "json", NAME])?;
        schema::judge("stats", &stats)?;
        let stats: Value = serde_json::from_str(&stats)?;
        // The counters are written once a second.
        let network = &stats[0]["network"];
        if network["sent_bytes"] == 10 {
            break stats;
        }
        ensure!(Instant::now() < deadline, "{network}");
    };
    let network = &stats[0]["network"];
    for (name, count) in [("flows", 2), ("received_bytes", 10), ("refused_flows", 4)] {
        ensure!(network[name] == count, "{name}: {network}");
    }
    let metrics = output(env, &["stats", "--format", "openmetrics", NAME])?;
    let id = stats[0]["id"].as_str().context("no id")?;
    for (name, value) in [("refused_flows", 4), ("sent_bytes", 10)] {
        let name = format!("msb_network_{name}_total");
        let sample = format!("\n{name}{{id=\"{id}\",sandbox=\"{NAME}\"}} {value}\n");
        ensure!(metrics.contains(&sample), "{metrics}");
    }
    ensure!(metrics.ends_with("\n# EOF\n"), "{metrics}");
    Ok(())
}

/// Checks that the hint of a refusal allows what was refused.
fn opened(env: &TestEnv, log: &Log, refused: u16) -> Result<()> {
    let record = &log.of("connect", "port", &refused.into())?[0];
    let hint = record["hint"].as_str().context("no hint")?;
    let options: Vec<&str> = hint.split(' ').collect();
    let word = format!("tcp:192.0.0.1:{refused}");
    let reached = env.run(&options, &["python3", "-c", REACH, &word])?;
    expect_code(&reached, 0)?;
    ensure!(reached.stdout == b"tcp hello soon\n", "{hint}");
    Ok(())
}

/// Checks that the log outlives the machine.
fn kept(env: &TestEnv, log: &Log) -> Result<()> {
    output(env, &["stop", "-t", "0", NAME])?;
    let text = output(
        env,
        &["logs", "--source", "network", "--format", "json", NAME],
    )?;
    let records = text.lines().map(serde_json::from_str::<Value>);
    let records: Vec<Value> = records.collect::<Result<_, _>>()?;
    ensure!(records.starts_with(&log.0), "{text}");
    remove(env, NAME)
}

fn python(env: &TestEnv, script: &str, arguments: &[&str]) -> Result<String> {
    output(
        env,
        &[&["exec", NAME, "python3", "-c", script], arguments].concat(),
    )
}

fn output(env: &TestEnv, words: &[&str]) -> Result<String> {
    let output: Output = env.msb().args(words).output()?;
    expect_code(&output, 0)?;
    Ok(String::from_utf8(output.stdout)?)
}
