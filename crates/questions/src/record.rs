use serde::{Deserialize, Serialize};

use crate::{End, Question};

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The time, in nanoseconds since the epoch.
    pub time_ns: u64,
    /// The event that it records.
    #[serde(flatten)]
    pub event: Event,
}

/// An event in the life of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A process asked.
    Asked(Question),
    /// The question ended.
    Ended {
        /// The question's number.
        id: u64,
        /// The way in which it ended.
        #[serde(flatten)]
        end: End,
    },
}

impl Event {
    /// Returns the number of the question.
    #[must_use]
    pub const fn id(&self) -> u64 {
        match self {
            Self::Asked(question) => question.id,
            Self::Ended { id, .. } => *id,
        }
    }
}
