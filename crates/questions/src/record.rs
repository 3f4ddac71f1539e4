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
    /// A client answered, or the question ended without an answer. A question that is allowed and then not
    /// delivered has two such events.
    Ended {
        /// The whole question: the record of its beginning may be missing.
        #[serde(flatten)]
        question: Question,
        /// The way in which it ended.
        #[serde(flatten)]
        end: End,
    },
}

impl Event {
    /// Returns the question that the event is about.
    #[must_use]
    pub const fn question(&self) -> &Question {
        match self {
            Self::Asked(question) | Self::Ended { question, .. } => question,
        }
    }

    /// Returns true if a client answered.
    #[must_use]
    pub fn is_of_client(&self) -> bool {
        matches!(self, Self::Ended { end, .. } if end.is_of_client())
    }

    /// Returns true if a client allowed what was asked for.
    #[must_use]
    pub fn was_allowed(&self) -> bool {
        matches!(self, Self::Ended { end, .. } if end.was_allowed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, Kind, Verdict};

    #[test]
    fn records_are_read_as_they_were_written() {
        let question = Question::new(Kind::Path, "/work/a\n\u{1b}[2J", "one").expect("one");
        let question = question.numbered(1).of_process(Some("sh\u{202e}"), Some(0));
        let answer = Answer::once(Verdict::Allow, "a user").with_rule(Some("/a=allow"));
        let ended = |end| Event::Ended {
            question: question.clone(),
            end,
        };
        for event in [
            Event::Asked(question.clone()),
            ended(End::Answered(answer)),
            ended(End::TimedOut),
        ] {
            let record = Record { time_ns: 7, event };
            let json = serde_json::to_string(&record).expect("JSON");
            let read: Record = serde_json::from_str(&json).expect("read");
            assert_eq!(read, record, "{json}");
        }
        let json = concat!(
            r#"{"time_ns":1,"event":"ended","id":7,"kind":"path","subject":"/a","reason":"","#,
            r#""end":"timed-out"}"#
        );
        let record: Record = serde_json::from_str(json).expect("read");
        assert_eq!(serde_json::to_string(&record).expect("JSON"), json);
    }
}
