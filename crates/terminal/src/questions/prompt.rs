use std::collections::VecDeque;
use std::io::{self, BufRead as _, Read as _};
use std::thread::Builder;
use std::time::{Duration, Instant};

use msb_sdk::{Error, Question, QuestionAnswer, QuestionEvent, Questions, Sandbox};
use tokio::sync::mpsc;

use super::asked;
use crate::failure::{Failure, printable};
use crate::output;

/// The longest line that is read, in bytes.
const LINE_MAX_BYTES: u64 = 64;
/// The time in which a question cannot be answered that has taken the place of another one: a line may be on its way
/// that is the answer to that one.
const READING_TIME: Duration = Duration::from_secs(1);

/// Asks all questions of a sandbox at the terminal, until the sandbox or standard input has ended.
///
/// # Errors
/// If the sandbox's process does not answer.
pub async fn answer_all(sandbox: &Sandbox, questions: &Questions, by: &str) -> Result<(), Error> {
    let mut lines = lines();
    let mut waiting: VecDeque<Question> = VecDeque::new();
    let mut answerable = Instant::now();
    loop {
        tokio::select! {
            event = questions.next() => match event? {
                Some(QuestionEvent::Asked(question)) => {
                    waiting.push_back(question);
                    if waiting.len() == 1 {
                        prompt(&waiting);
                        answerable = answerable.max(Instant::now());
                    }
                }
                Some(QuestionEvent::Ended { id, text, .. }) => {
                    let was_shown = waiting.front().is_some_and(|question| question.id == id);
                    waiting.retain(|question| question.id != id);
                    if was_shown {
                        output::notice(&format!("question {id} was {}", printable(&text)));
                        prompt(&waiting);
                        answerable = Instant::now() + READING_TIME;
                    }
                }
                Some(_) => {}
                None => return Ok(()),
            },
            line = lines.recv() => {
                let Some((read, line)) = line else { return Ok(()) };
                let Some(question) = waiting.front().cloned() else { continue };
                // A line that was typed for another question answers none.
                let Some(answer) = answer(&line).filter(|_| read >= answerable) else {
                    prompt(&waiting);
                    continue;
                };
                waiting.pop_front();
                give(sandbox, question, answer.by(by)).await;
                prompt(&waiting);
                answerable = Instant::now();
            }
        }
    }
}

/// Gives an answer. A file that cannot be let in is denied, which is not the end of the questions.
async fn give(sandbox: &Sandbox, question: Question, answer: QuestionAnswer) {
    let id = question.id;
    match sandbox.answer(question, answer).await {
        Ok(true) => {}
        Ok(false) => output::notice(&format!("question {id} has ended already")),
        Err(error) => output::notice(&Failure::from(error).line()),
    }
}

/// Shows the first of the questions that wait.
fn prompt(waiting: &VecDeque<Question>) {
    if let Some(question) = waiting.front() {
        let prompt = match question.kind.as_str() {
            "read" | "change" | "network" => "Allow it?",
            _ => "Let it in?",
        };
        let question = asked(question);
        output::notice(&format!("question {question}\n{prompt} [y/N/always]"));
    }
}

/// Returns the answer on a line; `None` for another word.
fn answer(line: &str) -> Option<QuestionAnswer> {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(QuestionAnswer::allow()),
        "a" | "always" => Some(QuestionAnswer::allow().always()),
        "" | "n" | "no" => Some(QuestionAnswer::deny()),
        _ => None,
    }
}

/// Reads the lines of standard input on a thread that the process does not wait for at its end.
fn lines() -> mpsc::Receiver<(Instant, String)> {
    let (sender, lines) = mpsc::channel(1);
    let read = move || {
        let mut input = io::stdin().lock();
        loop {
            let mut line = String::new();
            match (&mut input).take(LINE_MAX_BYTES).read_line(&mut line) {
                Ok(length) if length > 0 => {
                    // The rest of a line is no answer either.
                    if !line.ends_with('\n') && input.skip_until(b'\n').is_err() {
                        return;
                    }
                    if sender.blocking_send((Instant::now(), line)).is_err() {
                        return;
                    }
                }
                _ => return,
            }
        }
    };
    // Without the thread there is no input, which ends the questions.
    let _ = Builder::new().spawn(read);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_lets_a_file_in() {
        for (line, expected) in [
            ("y\n", Some((true, false))),
            ("Always\n", Some((true, true))),
            ("\n", Some((false, false))),
            ("no\n", Some((false, false))),
            ("yy\n", None),
        ] {
            let answer = answer(line).map(|answer| (answer.allow, answer.always));
            assert_eq!(answer, expected, "{line:?}");
        }
    }
}
