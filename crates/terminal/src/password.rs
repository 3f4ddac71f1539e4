//! User names and passwords, asked for on the terminal or read from standard input.

use std::io::{self, BufRead, IsTerminal as _, Read, Write as _};

use anyhow::anyhow;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::failure::Failure;
use crate::signals::Interrupts;

/// The longest user name or password, in bytes. Some access tokens have several thousand.
const ANSWER_MAX_BYTES: u64 = 64 << 10;

/// A terminal without echo. The echo returns when this value is dropped.
struct Unechoed(Termios);

impl Unechoed {
    fn begin() -> io::Result<Self> {
        let saved = tcgetattr(io::stdin())?;
        let mut silent = saved.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self(saved))
    }
}

impl Drop for Unechoed {
    fn drop(&mut self) {
        // A terminal that was closed has no mode to restore.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// The visibility of what is typed at a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// The typed text is seen, as for a user name.
    Shown,
    /// The typed text is not seen.
    Hidden,
}

/// Asks for a user name or a password on the terminal. A signal ends the question, and the terminal
/// is as before then.
///
/// # Errors
/// If standard input is not a terminal, or a signal came.
pub async fn ask(interrupts: &Interrupts, question: &str, echo: Echo) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        let message =
            "standard input is not a terminal that could be asked; use -u USER --password-stdin";
        return Err(anyhow!(message).into());
    }
    let unechoed = match echo {
        Echo::Shown => None,
        Echo::Hidden => Some(Unechoed::begin()?),
    };
    show(question);
    let typed = tokio::task::spawn_blocking(|| line(&mut io::stdin().lock()));
    let answer = tokio::select! {
        // Signals are polled first, so that none is missed.
        biased;
        code = interrupts.wait() => Err(Failure::with_exit_code(anyhow!("interrupted"), code)),
        answer = typed => answer.map_err(io::Error::from).flatten().map_err(Failure::from),
    };
    if unechoed.is_some() {
        // The new line that the user typed was not shown either.
        show("\n");
    }
    answer
}

/// Reads a password from standard input: all of it, without the line's end.
///
/// # Errors
/// If standard input cannot be read, or has too much.
pub fn from_stdin() -> Result<String, Failure> {
    Ok(whole(&mut io::stdin().lock())?)
}

fn whole(input: &mut impl Read) -> io::Result<String> {
    let mut text = String::new();
    input.take(ANSWER_MAX_BYTES + 1).read_to_string(&mut text)?;
    finished(text)
}

fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut text = String::new();
    input.take(ANSWER_MAX_BYTES + 1).read_line(&mut text)?;
    finished(text)
}

fn finished(mut text: String) -> io::Result<String> {
    if text.len() as u64 > ANSWER_MAX_BYTES {
        let message = format!("a user name or password has at most {ANSWER_MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    text.truncate(text.trim_end_matches(['\r', '\n']).len());
    Ok(text)
}

fn show(text: &str) {
    // If the question cannot be written, the answer below decides all the same.
    let _ = io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_line_without_its_end() {
        for (typed, word) in [
            (&b"pass\n"[..], "pass"),
            (b"pass\r\n", "pass"),
            (b" p w ", " p w "),
            (b"", ""),
            (b"one\ntwo\n", "one"),
        ] {
            assert_eq!(line(&mut &typed[..]).expect("an answer"), word);
        }
        assert_eq!(whole(&mut &b"one\ntwo\n"[..]).expect("all"), "one\ntwo");
        whole(&mut io::repeat(b'x')).expect_err("endless");
        line(&mut io::BufReader::new(io::repeat(b'x'))).expect_err("endless");
    }
}
