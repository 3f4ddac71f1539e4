//! Changes that are chosen at the terminal, as with `git add -p`.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read as _, Write};

use anyhow::anyhow;
use msb_sdk::{ApplyChoice, ApplyPlan, PlannedChange, TextHunk};
use terminal_text::Escaper;

use super::on_host;
use msb_terminal::failure::Failure;
use msb_terminal::terminal;

/// The longest answer that is read, in bytes.
const ANSWER_MAX_BYTES: u64 = 64;

/// An answer to the question about a hunk or a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    Quit,
    All,
    Rest,
    Split,
}

/// The letters of the answers, and their meaning.
const ANSWERS: [(char, Answer, &str); 6] = [
    ('y', Answer::Yes, "apply this"),
    ('n', Answer::No, "do not apply this"),
    (
        'q',
        Answer::Quit,
        "apply neither this nor anything after it",
    ),
    (
        'a',
        Answer::All,
        "apply this and all later hunks of the file",
    ),
    (
        'd',
        Answer::Rest,
        "apply neither this nor any later hunk of the file",
    ),
    ('s', Answer::Split, "split this hunk into smaller ones"),
];

/// Refuses to ask if there is no terminal.
pub(super) fn check_terminal() -> Result<(), Failure> {
    if terminal::stdin_is_terminal() && terminal::stderr_is_terminal() {
        return Ok(());
    }
    Err(
        anyhow!("msb apply -i asks at a terminal: standard input or standard error is not one")
            .into(),
    )
}

/// Asks about each change of a plan.
pub(super) async fn review(plan: &ApplyPlan) -> Result<(), Failure> {
    let mut has_quit = false;
    for change in plan.changes() {
        if has_quit {
            plan.choose(change.index, ApplyChoice::No);
            continue;
        }
        let hunks = plan.hunks(change.index).await?;
        let patch = plan.patch(change.index).await?;
        show(&heading(&change, &patch.text, !hunks.is_empty()));
        let (choice, quits) = if hunks.is_empty() {
            whole(&mut io::stdin().lock(), &mut io::stderr().lock())?
        } else {
            Hunks::new(hunks).ask(&mut io::stdin().lock(), &mut io::stderr().lock())?
        };
        plan.choose(change.index, choice);
        has_quit = quits;
    }
    Ok(())
}

/// Returns the lines above the question about a change: its letter and path, its effect, and its patch up to
/// the first hunk, if hunks are asked for one by one.
fn heading(change: &PlannedChange, patch: &[u8], has_hunks: bool) -> Vec<u8> {
    let path = on_host(&change.directory, &change.path);
    let mut text = format!("{} {path}\n", change.kind.letter()).into_bytes();
    if let Some(effect) = &change.effect {
        text.extend_from_slice(format!("msb: {effect}\n").as_bytes());
    }
    let lines = patch.split_inclusive(|&byte| byte == b'\n');
    let lines = lines.take_while(|line| !(has_hunks && line.starts_with(b"@@")));
    lines.for_each(|line| text.extend_from_slice(line));
    text
}

/// Writes text of a sandbox to standard error, escaped.
fn show(text: &[u8]) {
    let _ = write_escaped(&mut io::stderr().lock(), text);
}

fn write_escaped(output: &mut impl Write, text: &[u8]) -> io::Result<()> {
    let mut escaper = Escaper::default();
    output.write_all(&escaper.escape(text))?;
    output.write_all(&escaper.finish())
}

/// Asks about a whole file. Returns the choice, and true if the user quits.
fn whole(
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<(ApplyChoice, bool), Failure> {
    let answer = ask(input, output, "Apply this change", false)?;
    let is_made = matches!(answer, Answer::Yes | Answer::All);
    let choice = if is_made {
        ApplyChoice::Yes
    } else {
        ApplyChoice::No
    };
    Ok((choice, answer == Answer::Quit))
}

/// The hunks of a text, of which some are decided.
struct Hunks {
    open: VecDeque<TextHunk>,
    /// The number of hunks that were asked for.
    asked: usize,
    /// A value for each edit that was decided.
    chosen: Vec<bool>,
}

impl Hunks {
    fn new(hunks: Vec<TextHunk>) -> Self {
        Self {
            open: hunks.into(),
            asked: 0,
            chosen: Vec::new(),
        }
    }

    /// Asks about each hunk. Returns the choice, and true if the user quits.
    fn ask(
        mut self,
        input: &mut impl BufRead,
        output: &mut impl Write,
    ) -> Result<(ApplyChoice, bool), Failure> {
        let (mut rest, mut has_quit) = (None, false);
        while let Some(hunk) = self.open.pop_front() {
            if let Some(is_made) = rest {
                self.decide(&hunk, is_made);
                continue;
            }
            // A terminal that is gone has no answer, either.
            let _ = write_escaped(output, &hunk.text);
            if hunk.overlaps {
                let _ = writeln!(
                    output,
                    "msb: the file of this host has other changes in these lines: the hunk cannot be applied"
                );
            }
            let count = self.asked + 1 + self.open.len();
            let question = format!("({}/{count}) Apply this hunk", self.asked + 1);
            match ask(input, output, &question, !hunk.edits.is_empty())? {
                Answer::Split => {
                    hunk.edits
                        .into_iter()
                        .rev()
                        .for_each(|edit| self.open.push_front(edit));
                    continue;
                }
                Answer::Yes => self.decide(&hunk, true),
                Answer::No => self.decide(&hunk, false),
                Answer::All => {
                    self.decide(&hunk, true);
                    rest = Some(true);
                }
                answer @ (Answer::Rest | Answer::Quit) => {
                    self.decide(&hunk, false);
                    rest = Some(false);
                    has_quit = answer == Answer::Quit;
                }
            }
            self.asked += 1;
        }
        let choice = match (self.chosen.contains(&true), self.chosen.contains(&false)) {
            (true, false) => ApplyChoice::Yes,
            (false, _) => ApplyChoice::No,
            (true, true) => ApplyChoice::Edits(self.chosen),
        };
        Ok((choice, has_quit))
    }

    fn decide(&mut self, hunk: &TextHunk, is_made: bool) {
        let edits = hunk.edits.len().max(1);
        self.chosen.extend(std::iter::repeat_n(is_made, edits));
    }
}

/// Asks until there is an answer.
fn ask(
    input: &mut impl BufRead,
    output: &mut impl Write,
    question: &str,
    can_split: bool,
) -> Result<Answer, Failure> {
    let offered = || {
        ANSWERS
            .iter()
            .filter(|(letter, ..)| *letter != 's' || can_split)
    };
    let letters: String = offered().map(|(letter, ..)| format!("{letter},")).collect();
    loop {
        let _ = write!(output, "{question} [{letters}?]? ");
        let _ = output.flush();
        let mut answer = String::new();
        if input.take(ANSWER_MAX_BYTES).read_line(&mut answer)? == 0 {
            let _ = writeln!(output);
            return Err(
                anyhow!("nothing was applied, because the question was not answered").into(),
            );
        }
        if !answer.ends_with('\n') {
            // The rest of a long line is no answer to the next question.
            input.skip_until(b'\n')?;
        }
        let answer = answer.trim();
        let found = offered().find(|(letter, ..)| answer.eq_ignore_ascii_case(&letter.to_string()));
        if let Some((_, found, _)) = found {
            return Ok(*found);
        }
        for (letter, _, meaning) in offered() {
            let _ = writeln!(output, "{letter} - {meaning}");
        }
        let _ = writeln!(output, "? - print this help");
    }
}
