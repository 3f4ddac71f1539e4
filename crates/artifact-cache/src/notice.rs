use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use thiserror::Error;

/// The most notices of one kind: a damaged medium has one for each unit.
const NOTICES_MAX: usize = 64;

/// An event that the log of a sandbox should have, as a line of text. The log gets each once: [`Notice::Unreadable`]
/// and [`Notice::WrongBytes`] for each unit, the others for each source or cache file, and at most 64 of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Notice {
    /// A read fails: neither the cache file nor a source has the right bytes.
    #[error("cannot read {artifact} at byte {offset_bytes}: {reason}")]
    Unreadable {
        /// The name of the artifact.
        artifact: String,
        /// The first byte of the unit.
        offset_bytes: u64,
        /// The failures, as clauses.
        reason: String,
    },
    /// A source has other bytes than the artifact.
    #[error("{source_name} has wrong bytes of {artifact} at byte {offset_bytes}")]
    WrongBytes {
        /// The name of the source.
        source_name: String,
        /// The name of the artifact.
        artifact: String,
        /// The first byte of the unit.
        offset_bytes: u64,
    },
    /// A source fails.
    #[error("{source_name} fails to give {artifact} at byte {offset_bytes}: {reason}")]
    SourceFailed {
        /// The name of the source.
        source_name: String,
        /// The name of the artifact.
        artifact: String,
        /// The first byte of the unit.
        offset_bytes: u64,
        /// The error.
        reason: String,
    },
    /// Fetched bytes cannot be written to the cache file. They are fetched again when they are read again.
    #[error("cannot keep fetched bytes of {artifact}: {reason}")]
    NotKept {
        /// The name of the artifact.
        artifact: String,
        /// The error.
        reason: String,
    },
}

impl Notice {
    /// Returns the kind and the number that a notice is repeated by.
    fn key(&self) -> (u8, u64, &str) {
        match self {
            Self::Unreadable { offset_bytes, .. } => (0, *offset_bytes, ""),
            Self::WrongBytes {
                source_name,
                offset_bytes,
                ..
            } => (1, *offset_bytes, source_name),
            Self::SourceFailed { source_name, .. } => (2, 0, source_name),
            Self::NotKept { .. } => (3, 0, ""),
        }
    }
}

/// The log of an artifact.
#[derive(Default)]
pub(crate) struct Notices {
    log: Option<Box<Log>>,
    sent: Mutex<BTreeSet<(u8, u64, String)>>,
}

/// The function that a log gets its notices by.
pub(crate) type Log = dyn Fn(&Notice) + Send + Sync;

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notices").finish_non_exhaustive()
    }
}

impl Notices {
    pub(crate) fn new(log: Box<Log>) -> Self {
        Self {
            log: Some(log),
            sent: Mutex::default(),
        }
    }

    /// Sends a notice to the log, unless it has it already.
    pub(crate) fn send(&self, notice: &Notice) {
        let Some(log) = &self.log else {
            return;
        };
        let (kind, number, name) = notice.key();
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let of_kind = sent.range((kind, 0, String::new())..(kind + 1, 0, String::new()));
        let has_room = of_kind.count() < NOTICES_MAX;
        let is_new = has_room && sent.insert((kind, number, name.to_owned()));
        drop(sent);
        if is_new {
            log(notice);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_notice_is_sent_once_and_the_log_is_bounded() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&lines);
        let notices = Notices::new(Box::new(move |notice: &Notice| {
            log.lock().unwrap().push(notice.to_string());
        }));
        for offset_bytes in 0..1000 {
            for _ in 0..2 {
                notices.send(&Notice::Unreadable {
                    artifact: "layer".to_owned(),
                    offset_bytes,
                    reason: "it is damaged".to_owned(),
                });
            }
        }
        let lines = lines.lock().unwrap();
        assert_eq!(lines.len(), NOTICES_MAX);
        assert_eq!(lines[0], "cannot read layer at byte 0: it is damaged");
        assert_eq!(lines[1], "cannot read layer at byte 1: it is damaged");
    }
}
