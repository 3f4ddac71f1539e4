//! An event as a line of the journal.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Longest line, in bytes. A command of 4 KiB whose bytes are all escaped has 25 KiB.
pub(crate) const LINE_MAX_BYTES: usize = 32 << 10;
/// Length of the checksum at the beginning of a line, in bytes.
const CHECKSUM_DIGITS: usize = 8;

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line {
    /// The number of the newest command at that time; 0 if there was none.
    pub(crate) last: u64,
    /// The time, in RFC 3339.
    pub(crate) at: String,
    #[serde(flatten)]
    pub(crate) event: Event,
}

/// An event in the life of a sandbox's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// A command is about to start.
    Begin {
        number: u64,
        argv: Vec<String>,
        /// True if `argv` is only the beginning of the command.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_cut: bool,
        /// The snapshot before it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        snapshot: Option<String>,
    },
    /// A command runs as a job.
    Job { number: u64, job: u64 },
    /// A command has ended.
    End { number: u64, exit_code: u8 },
    /// A command was not started.
    Withdraw { number: u64 },
    /// A user took a snapshot.
    Snapshot { name: String },
    /// The files are those of a snapshot, and another one has the files from before.
    Rollback {
        to: String,
        to_created_s: u64,
        kept: String,
    },
    /// An event that a later msb wrote.
    #[serde(other)]
    Unknown,
}

impl Line {
    pub(crate) fn new(last: u64, event: Event) -> Self {
        let now = Timestamp::now();
        // Times have milliseconds.
        let now = Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now);
        Self {
            last,
            at: now.to_string(),
            event,
        }
    }

    /// Returns the time; the epoch if it is no time.
    pub(crate) fn time(&self) -> Timestamp {
        self.at.parse().unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Returns the bytes of the line, with its end.
    pub(crate) fn encode(&self) -> serde_json::Result<Vec<u8>> {
        let json = serde_json::to_string(self)?;
        Ok(format!("{:08x} {json}\n", crc32c::crc32c(json.as_bytes())).into_bytes())
    }

    /// Reads a line, without its end; `None` if it is not what was written.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > LINE_MAX_BYTES {
            return None;
        }
        let (checksum, rest) = bytes.split_at_checked(CHECKSUM_DIGITS)?;
        let json = rest.strip_prefix(b" ")?;
        if checksum != format!("{:08x}", crc32c::crc32c(json)).as_bytes() {
            return None;
        }
        serde_json::from_slice(json).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bit_of_a_line_changes_unseen() {
        let event = Event::Begin {
            number: 7,
            argv: vec!["sh".to_owned(), "a\nb\u{1b}".to_owned()],
            is_cut: false,
            snapshot: Some("command-7".to_owned()),
        };
        let line = Line::new(7, event);
        let mut bytes = line.encode().expect("encoded");
        assert_eq!(bytes.pop(), Some(b'\n'));
        assert!(!bytes.contains(&b'\n'));
        assert_eq!(Line::decode(&bytes), Some(line));
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Line::decode(&changed), None, "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_eq!(Line::decode(&bytes[..length]), None);
        }
    }

    #[test]
    fn an_event_of_a_later_msb_is_not_damage() {
        let json = r#"{"last":3,"at":"2026-11-21T10:00:00Z","event":"renumber","by":[1]}"#;
        let line = format!("{:08x} {json}", crc32c::crc32c(json.as_bytes()));
        let line = Line::decode(line.as_bytes()).expect("read");
        assert_eq!((line.last, &line.event), (3, &Event::Unknown));
    }
}
