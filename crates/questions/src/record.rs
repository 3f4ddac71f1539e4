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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, Kind, Verdict};

    #[test]
    fn records_are_read_as_they_were_written() {
        let mut question = Question::new(Kind::Path, "/work/a\n\u{1b}[2J", "one").expect("one");
        question.id = 1;
        let answer = Answer::once(Verdict::Allow, "a user").with_rule(Some("/a=allow"));
        let ended = |end| Event::Ended { id: 1, end };
        for event in [
            Event::Asked(question.of_process(Some("sh\u{202e}"), Some(0))),
            ended(End::Answered(answer)),
            ended(End::TimedOut),
        ] {
            let record = Record { time_ns: 7, event };
            let json = serde_json::to_string(&record).expect("JSON");
            let read: Record = serde_json::from_str(&json).expect("read");
            assert_eq!((read.event.id(), &read), (1, &record), "{json}");
        }
        let json = r#"{"time_ns":1,"event":"ended","id":7,"end":"timed-out"}"#;
        let record: Record = serde_json::from_str(json).expect("read");
        assert_eq!(serde_json::to_string(&record).expect("JSON"), json);
    }
}
