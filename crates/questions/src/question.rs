use serde::{Deserialize, Serialize};

use crate::Kind;
use crate::text::beginning;

/// The longest subject, in bytes. A path of Linux has at most as many.
pub const SUBJECT_MAX_BYTES: usize = 4096;
/// The longest reason, in bytes; the rest of a longer one is dropped.
pub const REASON_MAX_BYTES: usize = 1024;
/// The longest name of a process, in bytes; the rest of a longer one is dropped.
pub const PROCESS_MAX_BYTES: usize = 64;

/// The largest number of a question. JavaScript does not read larger ones exactly.
pub const NUMBER_MAX: u64 = (1 << 53) - 1;

/// A question of a guest. Its texts are the guest's, and may have any characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The number of the question in the life of the sandbox; 0 before it has got one.
    pub id: u64,
    /// The kind, which says what the subject is.
    pub kind: Kind,
    /// The file or the connection that is asked for.
    pub subject: String,
    /// The words of the process; empty if it gave none.
    pub reason: String,
    /// Name of the process that asks, as its kernel has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// User id of the process in the guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
}

/// A guest asked for nothing that there could be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidQuestion {
    /// The subject is empty.
    #[error("the question has no subject")]
    Empty,
    /// The subject is longer than [`SUBJECT_MAX_BYTES`].
    #[error("the subject has {length_bytes} bytes, and {SUBJECT_MAX_BYTES} are the limit")]
    TooLong {
        /// The length, in bytes.
        length_bytes: usize,
    },
    /// The path of a file does not begin with a slash.
    #[error("the path is not absolute")]
    Relative,
    /// The path of a file leads to another one than its names say.
    #[error("the path has an empty name, '.' or '..': write the path of the file itself")]
    NotPlain,
}

impl Question {
    /// Returns a question. A long reason loses its end.
    ///
    /// # Errors
    /// If the subject is empty or too long, or the path of a file is not absolute, or has `.` or `..` as a name.
    pub fn new(kind: Kind, subject: &str, reason: &str) -> Result<Self, InvalidQuestion> {
        if subject.is_empty() {
            return Err(InvalidQuestion::Empty);
        }
        if subject.len() > SUBJECT_MAX_BYTES {
            let length_bytes = subject.len();
            return Err(InvalidQuestion::TooLong { length_bytes });
        }
        if kind.has_path() && !subject.starts_with('/') {
            return Err(InvalidQuestion::Relative);
        }
        // Whoever answers reads the path as it is written.
        let is_plain = |name: &str| !matches!(name, "" | "." | "..");
        let names = subject.trim_start_matches('/');
        if kind.has_path() && !names.is_empty() && !names.split('/').all(is_plain) {
            return Err(InvalidQuestion::NotPlain);
        }
        Ok(Self {
            id: 0,
            kind,
            subject: subject.to_owned(),
            reason: beginning(reason, REASON_MAX_BYTES).to_owned(),
            process: None,
            uid: None,
        })
    }

    /// Gives the question its number.
    #[must_use]
    pub fn numbered(mut self, id: u64) -> Self {
        self.id = id;
        self
    }

    /// Adds the process that asks, as far as it is known.
    #[must_use]
    pub fn of_process(mut self, process: Option<&str>, uid: Option<u32>) -> Self {
        let process = process.filter(|name| !name.is_empty());
        self.process = process.map(|name| beginning(name, PROCESS_MAX_BYTES).to_owned());
        self.uid = uid;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_bounded() {
        let long = "\u{e9}".repeat(REASON_MAX_BYTES);
        let question = Question::new(Kind::Path, "/a", &long).expect("a question");
        assert_eq!(question.reason.len(), REASON_MAX_BYTES);
        let question = question.of_process(Some(&long), Some(7));
        assert_eq!(
            question.process.map(|name| name.len()),
            Some(PROCESS_MAX_BYTES)
        );
        let subject = format!("/{}", "a".repeat(SUBJECT_MAX_BYTES));
        for (subject, expected) in [
            ("", InvalidQuestion::Empty),
            ("a/b", InvalidQuestion::Relative),
            ("/work/README/../.env", InvalidQuestion::NotPlain),
            ("/work//.env", InvalidQuestion::NotPlain),
            (
                &subject,
                InvalidQuestion::TooLong {
                    length_bytes: SUBJECT_MAX_BYTES + 1,
                },
            ),
        ] {
            for kind in [Kind::Path, Kind::Read, Kind::Change] {
                assert_eq!(Question::new(kind, subject, ""), Err(expected.clone()));
            }
        }
        assert!(Question::new(Kind::Network, "example.test:443", "").is_ok());
    }
}
