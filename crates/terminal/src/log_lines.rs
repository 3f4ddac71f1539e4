//! Records of logs that are JSON, as lines for people.

mod tls_lines;

use jiff::Timestamp;
use msb_sdk::{
    FlowEnd, NetworkClose, NetworkConnect, NetworkEvent, NetworkQuery, NetworkRecord,
    NetworkRulesChange, Verdict,
};
use questions::Record as QuestionRecord;

use crate::failure::printable;
use crate::output::human_size;
use crate::questions::recorded;

/// The rule of connections that come in.
const PUBLISHED: &str = "published";

/// Returns a line of the journal of questions as text, with its end.
///
/// # Errors
/// If it is no record.
pub fn of_asks(json: &[u8]) -> serde_json::Result<String> {
    let record: QuestionRecord = serde_json::from_slice(json)?;
    let time = Timestamp::from_nanosecond(record.time_ns.into()).unwrap_or_default();
    Ok(format!("{time:.3} {}\n", recorded(&record.event)))
}

/// Returns a line of the log of the network as text, with its end.
///
/// # Errors
/// If it is no record.
pub fn of_network(json: &[u8]) -> serde_json::Result<String> {
    let record: NetworkRecord = serde_json::from_slice(json)?;
    let text = match &record.event {
        NetworkEvent::Connect(connect) => connected(connect),
        NetworkEvent::Close(close) => closed(close),
        NetworkEvent::Dns(query) => asked(query),
        NetworkEvent::Rules(change) => changed(change),
        NetworkEvent::Lost { count } => {
            format!("{count} events are not recorded: there were too many")
        }
        NetworkEvent::Tls(tls) => tls_lines::of(tls)?,
        other => serde_json::to_string(other)?,
    };
    // Names are the guest's.
    Ok(format!(
        "{} {}\n",
        printable(&record.time),
        printable(&text)
    ))
}

fn changed(change: &NetworkRulesChange) -> String {
    let mut text = format!("rules changed, {}", change.mode);
    for (word, rules) in [
        ("allow", &change.allow),
        ("deny", &change.deny),
        ("removed", &change.removed),
    ] {
        if !rules.is_empty() {
            text.push_str(&format!("; {word} {}", rules.join(", ")));
        }
    }
    if change.more > 0 {
        text.push_str(&format!("; and {} more", change.more));
    }
    text
}

fn connected(connect: &NetworkConnect) -> String {
    let NetworkConnect {
        proto,
        address,
        port,
        rule,
        ..
    } = connect;
    let name = connect.name.as_deref();
    let destination = match name {
        Some(name) => format!("{proto} {name}:{port} ({address})"),
        None => format!("{proto} {address}:{port}"),
    };
    if connect.verdict == Verdict::Denied {
        let advice = advice(connect.hint.as_deref(), connect.count);
        return format!("refused {destination} by {rule}{advice}");
    }
    let flow = connect.flow.unwrap_or_default();
    if rule == PUBLISHED {
        return format!("{flow} {proto} port {port} of the sandbox from {address}");
    }
    format!("{flow} {destination} by {rule}")
}

fn closed(close: &NetworkClose) -> String {
    let end = match close.end {
        FlowEnd::Guest => "closed by the sandbox",
        FlowEnd::Peer => "closed by the peer",
        FlowEnd::GuestReset => "broken off by the sandbox",
        FlowEnd::PeerReset => "broken off by the peer",
        FlowEnd::Refused => "refused by the peer",
        FlowEnd::Unreachable => "unreachable",
        FlowEnd::Timeout => "not answered",
        FlowEnd::Idle => "idle",
        FlowEnd::Busy => "refused: too many requests at once",
        FlowEnd::Denied => "refused by the rules for HTTPS",
        FlowEnd::Revoked => "closed by changed rules",
        FlowEnd::ProxyRefused => "refused by the upstream proxy",
        FlowEnd::ProxyFailed => "not connected by the upstream proxy",
        FlowEnd::Machine => "ended with the machine",
        _ => "ended",
    };
    let traffic = traffic(close.ms, close.sent, close.received);
    format!("{} {end} after {traffic}", close.flow)
}

/// Returns a time, and the bytes that were transferred in it.
fn traffic(ms: u64, sent: u64, received: u64) -> String {
    format!(
        "{}.{:03}s, {} sent, {} received",
        ms / 1000,
        ms % 1000,
        human_size(sent),
        human_size(received)
    )
}

fn asked(query: &NetworkQuery) -> String {
    let NetworkQuery {
        name,
        record_type,
        rule,
        code,
        ..
    } = query;
    let advice = advice(query.hint.as_deref(), query.count);
    if query.verdict == Verdict::Denied {
        return format!("refused name {name} {record_type} by {rule}: {code}{advice}");
    }
    format!("name {name} {record_type} by {rule}: {code}{advice}")
}

/// Returns the number of equal events, and the option that allows them.
fn advice(hint: Option<&str>, count: u64) -> String {
    let times = match count {
        1 => String::new(),
        count => format!(", {count} times"),
    };
    match hint {
        Some(hint) => format!("{times}; {hint} allows it"),
        None => times,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_the_network_are_lines_that_a_terminal_may_show() {
        for (json, expected) in [
            (
                r#"{"time":"2026-11-27T02:41:03.120Z","event":"connect","flow":17,"proto":"tcp","name":"api.example.com","address":"203.0.113.9","port":443,"verdict":"allowed","rule":"*.example.com:443"}"#,
                "17 tcp api.example.com:443 (203.0.113.9) by *.example.com:443",
            ),
            (
                r#"{"time":"2026-11-27T02:41:03.120Z","event":"connect","flow":18,"proto":"tcp","address":"127.0.0.1","port":80,"verdict":"allowed","rule":"published"}"#,
                "18 tcp port 80 of the sandbox from 127.0.0.1",
            ),
            (
                r#"{"time":"2026-11-27T02:41:03.120Z","event":"connect","proto":"udp","address":"10.0.0.5","port":53,"verdict":"denied","rule":"10.0.0.0/8","hint":"--net-allow 10.0.0.5:53","count":12}"#,
                "refused udp 10.0.0.5:53 by 10.0.0.0/8, 12 times; --net-allow 10.0.0.5:53 allows it",
            ),
            (
                r#"{"time":"2026-11-27T02:41:03.120Z","event":"close","flow":17,"sent":4110,"received":52011,"ms":1023,"end":"guest"}"#,
                "17 closed by the sandbox after 1.023s, 4.1kB sent, 52.0kB received",
            ),
            (
                r#"{"time":"2026-11-27T02:41:03.120Z","event":"dns","name":"a\n\u001b[2J.test","type":"A","verdict":"denied","rule":"listed","code":"NXDOMAIN"}"#,
                r"refused name a\n\u{1b}[2J.test A by listed: NXDOMAIN",
            ),
            (
                r#"{"time":"2026-11-27T02:41:03.120Z","event":"close","flow":17,"sent":0,"received":0,"ms":1,"end":"denied"}"#,
                "17 refused by the rules for HTTPS after 0.001s, 0B sent, 0B received",
            ),
            (
                r#"{"time":"2026-11-27T02:41:03.120Z","event":"lost","count":31}"#,
                "31 events are not recorded: there were too many",
            ),
        ] {
            let line = of_network(json.as_bytes()).expect("a record");
            assert_eq!(line, format!("2026-11-27T02:41:03.120Z {expected}\n"));
        }
        assert!(of_network(b"{}").is_err());
    }

    #[test]
    fn a_question_is_a_line_with_its_time() {
        let json = concat!(
            r#"{"time_ns":1000000000,"event":"ended","id":7,"kind":"path","subject":"/a","#,
            r#""reason":"b\nc","end":"timed-out"}"#
        );
        let line = of_asks(json.as_bytes()).expect("a record");
        assert!(line.starts_with("1970-01-01T00:00:01.000Z 7 "), "{line}");
        assert!(line.ends_with("b\\nc)\n"), "{line}");
    }
}
