use anyhow::anyhow;
use msb_sdk::{Question, QuestionEvent, Sandbox};

use super::Context;
use msb_terminal::failure::{Failure, Outcome, printable};
use msb_terminal::output::{self, Format};
use msb_terminal::questions::{self, Answer, BY_ASKS};
use msb_terminal::terminal;

// Arguments of `msb asks`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A process of a sandbox asks for a file of a staged directory (-v DIR:PATH:staged) that it does \
    not see with msb-ask PATH REASON, and waits for the answer. In a shared directory (-v DIR:PATH), a \
    process asks by opening a file with the state ask, or by changing one with the state ask or \
    write-ask. In a sandbox with --net-ask, a process asks by connecting to a destination that its network denies, or \
    by querying its name. At a terminal msb asks shows each question and reads the answer: y lets the file in, or \
    allows the access while the file is open, or the connection; always keeps a rule too, and n denies it. \
    Otherwise the questions are printed, and another msb asks --answer answers them. A question is \
    denied after 30 seconds, and at once if no msb asks, msb run or program listens.\n\n\
    msb logs --source asks prints the questions of the past.\n\n\
    Examples:\n  \
    msb asks agent\n  \
    msb asks --format json agent\n  \
    msb asks agent --answer 3=allow,always"
)]
pub(crate) struct Arguments {
    /// Answer a question by its number instead of listening: 3=allow, 3=deny or 3=allow,always
    #[arg(long, value_name = "ID=ANSWER")]
    answer: Vec<Answer>,
    /// Output format; with json one line for each event
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Name or id of a running sandbox
    #[arg(value_name = "SANDBOX")]
    name: String,
}

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let sandbox = context.handle(&arguments.name).await?;
    if !arguments.answer.is_empty() {
        return answer_all(&sandbox, &arguments.answer).await;
    }
    let events = sandbox.questions().await?;
    let is_asked = terminal::stdin_is_terminal() && terminal::stderr_is_terminal();
    if is_asked && arguments.format == Format::Table {
        questions::answer_all(&sandbox, &events, BY_ASKS).await?;
        return Ok(0);
    }
    while let Some(event) = events.next().await? {
        let line = match arguments.format {
            Format::Json => output::json_line(&event)?,
            Format::Table => match line(&event) {
                Some(line) => line,
                None => continue,
            },
        };
        if !output::offer(&format!("{line}\n"))? {
            break;
        }
    }
    Ok(0)
}

/// Answers questions by their numbers.
async fn answer_all(sandbox: &Sandbox, answers: &[Answer]) -> Outcome {
    let waiting = waiting(sandbox).await?;
    for Answer { id, answer } in answers {
        let not_open = || {
            Failure::from(anyhow!(
                "question {id} is not open: it was answered, or has ended"
            ))
        };
        let question = waiting.iter().find(|question| question.id == *id);
        let question = question.ok_or_else(not_open)?;
        if !sandbox.answer(question.clone(), answer.clone()).await? {
            return Err(not_open());
        }
    }
    Ok(0)
}

/// Returns the questions that wait for an answer.
async fn waiting(sandbox: &Sandbox) -> Result<Vec<Question>, Failure> {
    let events = sandbox.questions().await?;
    let mut waiting = Vec::new();
    while let Some(QuestionEvent::Asked(question)) = events.next().await? {
        waiting.push(question);
    }
    Ok(waiting)
}

/// Returns the text of an event; `None` if there is none to print.
fn line(event: &QuestionEvent) -> Option<String> {
    match event {
        QuestionEvent::Asked(question) => Some(questions::asked(question)),
        QuestionEvent::Ended { id, text, .. } => Some(format!("{id} {}", printable(text))),
        _ => None,
    }
}
