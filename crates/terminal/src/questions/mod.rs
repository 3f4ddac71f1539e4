//! Questions of a sandbox: asked at this terminal, and as text.

mod answer;
mod prompt;

use msb_sdk::Question;
use questions::{End, Event, Kind, Question as Recorded};

pub use answer::Answer;
pub use prompt::answer_all;

use crate::failure::printable;

/// The name that `msb asks` has in the journal.
pub const BY_ASKS: &str = "msb asks";
/// The name that `msb run` has in the journal.
pub const BY_RUN: &str = "msb run";

/// Returns the text of a question, on one line.
pub fn asked(question: &Question) -> String {
    let verb = match question.kind.as_str() {
        "read" => "read ",
        "change" => "change ",
        "network" => "connect to ",
        _ => "",
    };
    let mut line = format!("{} {verb}{}", question.id, printable(&question.subject));
    if let Some(process) = &question.process {
        line.push_str(&format!(" for {}", printable(process)));
    }
    if let Some(uid) = question.uid {
        line.push_str(&format!(" (user {uid})"));
    }
    if !question.reason.is_empty() {
        line.push_str(&format!(": {}", printable(&question.reason)));
    }
    line
}

/// Returns the text of an event of the journal, on one line. What msb says comes before the guest's own words.
pub fn recorded(event: &Event) -> String {
    match event {
        Event::Asked(question) => format!("{} {}", question.id, words(question)),
        Event::Ended { question, end } => {
            let mut text = format!("{} {}", question.id, end.for_guest());
            if let End::Refused { rule } = end {
                text.push_str(&format!(", {}", printable(rule)));
            }
            if let End::Answered(answer) = end {
                text.push_str(&format!(" by {}", printable(&answer.by)));
                if let Some(rule) = &answer.rule {
                    text.push_str(&format!(", and {}", printable(rule)));
                }
            }
            text.push_str(&format!(" ({})", words(question)));
            text
        }
    }
}

/// Returns the words of a question of the journal.
fn words(question: &Recorded) -> String {
    let process = question.process.as_deref().unwrap_or("a process");
    let verb = match question.kind {
        Kind::Read => "to read",
        Kind::Change => "to change",
        Kind::Network => "to connect to",
        _ => "for",
    };
    let mut words = format!(
        "{} asks {verb} {}",
        printable(process),
        printable(&question.subject)
    );
    if !question.reason.is_empty() {
        words.push_str(&format!(": {}", printable(&question.reason)));
    }
    words
}

#[cfg(test)]
mod tests {
    use questions::{Answer, Verdict};

    use super::*;

    #[test]
    fn one_record_of_an_end_says_what_was_asked_for_and_who_answered() {
        let question = Recorded::new(Kind::Path, "/work/.env", "tests\n4 allowed");
        let question = question.expect("one").numbered(3);
        let answer = Answer::once(Verdict::Allow, BY_ASKS).with_rule(Some("/.env=allow"));
        let by = BY_ASKS.to_owned();
        let words = "a process asks for /work/.env: tests\\n4 allowed";
        for (end, expected) in [
            (
                End::Answered(answer),
                "allowed by msb asks, and /.env=allow",
            ),
            (End::TooMany, "denied: too many questions are open"),
            (
                End::Interrupted { by },
                "denied: the copy of the file into the sandbox was interrupted",
            ),
        ] {
            let question = question.clone();
            let text = recorded(&Event::Ended { question, end });
            assert_eq!(text, format!("3 {expected} ({words})"));
        }
        assert_eq!(recorded(&Event::Asked(question)), format!("3 {words}"));
    }

    #[test]
    fn a_refusal_has_its_rule_and_the_kind_of_access() {
        for (kind, verb) in [(Kind::Read, "read"), (Kind::Change, "change")] {
            let question = Recorded::new(kind, "/work/keys/id", "").expect("one");
            let event = Event::Ended {
                question: question.numbered(4),
                end: End::refused("keys=deny"),
            };
            let expected =
                format!("4 denied by a rule, keys=deny (a process asks to {verb} /work/keys/id)");
            assert_eq!(recorded(&event), expected);
        }
    }
}
