//! Questions of a sandbox: asked at this terminal, and as text.

mod answer;
mod prompt;

use msb_sdk::Question;
use questions::{Answer as Given, End, Event};

pub use answer::Answer;
pub use prompt::answer_all;

use crate::failure::printable;

/// The name that `msb asks` has in the journal.
pub const BY_ASKS: &str = "msb asks";
/// The name that `msb run` has in the journal.
pub const BY_RUN: &str = "msb run";

/// Returns the text of a question, on one line.
pub fn asked(question: &Question) -> String {
    let mut line = format!("{} {}", question.id, printable(&question.subject));
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

/// Returns the text of an event of the journal, on one line.
pub fn recorded(event: &Event) -> String {
    match event {
        Event::Asked(question) => {
            let process = question.process.as_deref().unwrap_or("a process");
            let mut text = format!(
                "{} {} asks for {}",
                question.id,
                printable(process),
                printable(&question.subject)
            );
            if !question.reason.is_empty() {
                text.push_str(&format!(": {}", printable(&question.reason)));
            }
            text
        }
        Event::Ended { id, end } => {
            let by = match end {
                End::Answered(answer) => format!(" by {}", printable(&answer.by)),
                _ => String::new(),
            };
            let rule = match end {
                End::Answered(Given {
                    rule: Some(rule), ..
                }) => format!(", and {}", printable(rule)),
                _ => String::new(),
            };
            format!("{id} {}{by}{rule}", end.for_guest())
        }
    }
}
