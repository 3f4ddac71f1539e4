//! The messages between the process of a share and the supervisor: lines of JSON over a socket.

use std::io::{BufRead, Read as _};

use path_rules::Rule;
use questions::Kind;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The longest message, in bytes. A path and a rule of control characters, which JSON writes with six bytes each, are
/// shorter.
pub(crate) const LINE_MAX_BYTES: u64 = 64 << 10;

/// A message of the process of a share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub(crate) enum FromShare {
    /// A request of the guest waits for an answer.
    Asked {
        /// The share's number of the question.
        token: u64,
        kind: Kind,
        /// The path in the sandbox.
        path: String,
    },
    /// The request needs no answer.
    Withdrawn { token: u64 },
    /// A rule has refused a request of the guest.
    Refused {
        kind: Kind,
        /// The path in the sandbox.
        path: String,
        rule: String,
    },
    /// The rule with this number is followed, unless there is an error.
    Changed { number: u64, error: Option<String> },
}

/// A message of the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub(crate) enum ToShare {
    /// The answer to a question.
    Told { token: u64, is_allowed: bool },
    /// A rule of the directory at `target` is to be followed.
    Rule {
        number: u64,
        target: String,
        rule: Rule,
    },
}

/// Returns the line of a message.
pub(crate) fn encode(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Returns the message of a line; `None` if the line has no end, or is no message.
pub(crate) fn decode<M: DeserializeOwned>(line: &[u8]) -> Option<M> {
    let text = line.strip_suffix(b"\n")?;
    serde_json::from_slice(text).ok()
}

/// Reads a message; `None` at the end, and if the other side sends something else.
pub(crate) fn read<M: DeserializeOwned>(lines: &mut impl BufRead) -> Option<M> {
    let mut line = Vec::new();
    let mut lines = lines.take(LINE_MAX_BYTES);
    lines.read_until(b'\n', &mut line).ok()?;
    decode(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written_and_nothing_else_is() {
        let rule = "/a=hide".parse().expect("a rule");
        let told = ToShare::Told {
            token: 7,
            is_allowed: true,
        };
        let changed = ToShare::Rule {
            number: 1,
            target: "/work".to_owned(),
            rule,
        };
        let mut sent = Vec::new();
        for message in [&told, &changed] {
            sent.extend(encode(message).expect("written"));
        }
        let mut lines = &sent[..];
        assert_eq!(read(&mut lines), Some(told));
        assert_eq!(read(&mut lines), Some(changed));
        assert_eq!(read::<ToShare>(&mut lines), None);
        let endless = vec![b' '; 1 << 20];
        for other in [&b"{}\n"[..], b"nonsense\n", &sent[..5], &endless] {
            let mut lines = other;
            assert_eq!(read::<ToShare>(&mut lines), None);
            let left = other.len().saturating_sub(1 << 16);
            assert!(lines.len() >= left, "it was read to its end");
        }
    }

    #[test]
    fn the_longest_message_fits_a_line() {
        let longest = "\u{1}".repeat(questions::SUBJECT_MAX_BYTES);
        let refused = FromShare::Refused {
            kind: Kind::Change,
            path: longest.clone(),
            rule: longest,
        };
        let line = encode(&refused).expect("written");
        assert!(line.len() as u64 <= LINE_MAX_BYTES);
        assert_eq!(decode(&line), Some(refused));
    }
}
