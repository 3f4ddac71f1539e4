use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::NetworkRules;

/// The longest message, in bytes with its end: more than the longest rules take, which are at most 128 KiB of text
/// that JSON can double.
pub const MESSAGE_MAX_BYTES: u64 = 320 << 10;

/// A message of the network's process to the supervisor: a line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub enum FromNetwork {
    /// The guest wants a destination that is denied unless the user allows it.
    Asked {
        /// The network's number of the question.
        token: u64,
        /// The destination, `HOST:PORT`; a name alone if the guest queries it.
        subject: String,
    },
    /// The rules with this number are followed, unless there is an error.
    Changed {
        /// The number of the rules.
        number: u64,
        /// The reason why they are not followed.
        error: Option<String>,
    },
}

/// A message of the supervisor to the network's process: a line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub enum ToNetwork {
    /// The rules are to be followed in place of those before.
    Rules {
        /// The number of the rules.
        number: u64,
        /// All rules that hold from now on.
        rules: NetworkRules,
        /// True if open connections end that the rules deny.
        closes: bool,
    },
    /// The end of a question.
    Told {
        /// The network's number of the question.
        token: u64,
        /// The end of the question.
        told: Told,
    },
}

/// The end of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// The user allows the destination, this once or by a rule that is already followed.
    Allowed,
    /// The user denies it.
    Denied,
    /// There was no answer.
    Unanswered,
}

/// Returns the line of a message.
///
/// # Errors
/// None that is known: all parts of a message can be written.
pub fn message_line(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Returns the message of a line; `None` if the line has no end, or is no message.
pub fn message_of_line<M: DeserializeOwned>(line: &[u8]) -> Option<M> {
    let text = line.strip_suffix(b"\n")?;
    serde_json::from_slice(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DefaultPolicy;

    #[test]
    fn messages_are_read_as_they_were_written_and_nothing_else_is() {
        let rules = NetworkRules::parse(
            DefaultPolicy::Listed,
            &["a.example", "https://b.example/v1/*:GET"],
            &["10.0.0.0/8"],
        );
        let message = ToNetwork::Rules {
            number: 7,
            rules: rules.unwrap(),
            closes: true,
        };
        let line = message_line(&message).unwrap();
        assert_eq!(message_of_line(&line), Some(message));
        let told = ToNetwork::Told {
            token: 1,
            told: Told::Unanswered,
        };
        let line = message_line(&told).unwrap();
        assert_eq!(message_of_line(&line), Some(told));
        for other in [&b"{}\n"[..], b"nonsense\n", &line[..line.len() - 1]] {
            assert_eq!(message_of_line::<ToNetwork>(other), None);
        }
    }
}
