//! Questions before something is done that cannot be undone.

use std::io::{self, BufRead, Read as _, Write};

use anyhow::anyhow;

use crate::failure::Failure;
use crate::{output, terminal};

/// The longest answer that is read, in bytes.
const ANSWER_MAX_BYTES: u64 = 64;

/// Asks on standard error for consent to `consequence`, and reads the answer from standard input.
///
/// # Errors
/// If standard input has no answer.
pub fn confirmed(consequence: &str) -> Result<bool, Failure> {
    let agreed = ask(
        &mut io::stdin().lock(),
        &mut io::stderr().lock(),
        consequence,
    )?;
    if !agreed {
        output::notice("nothing was removed");
    }
    Ok(agreed)
}

/// Asks at a terminal for consent to `consequence`. Returns false without a question if standard input or
/// standard error is no terminal.
pub fn agreed(consequence: &str) -> Result<bool, Failure> {
    if !terminal::stdin_is_terminal() || !terminal::stderr_is_terminal() {
        return Ok(false);
    }
    let answer = ask(
        &mut io::stdin().lock(),
        &mut io::stderr().lock(),
        consequence,
    );
    // The end of the input is no consent.
    Ok(answer.unwrap_or(false))
}

fn ask(
    input: &mut impl BufRead,
    output: &mut impl Write,
    consequence: &str,
) -> Result<bool, Failure> {
    // If the question cannot be written, the answer below decides all the same.
    let consequence = terminal_text::escaped_lines(consequence);
    let _ = write!(output, "{consequence}\nContinue? [y/N] ");
    let _ = output.flush();
    let mut answer = String::new();
    if input.take(ANSWER_MAX_BYTES).read_line(&mut answer)? == 0 {
        let _ = writeln!(output);
        return Err(anyhow!(
            "nothing was removed, because the question was not answered; use --force to remove \
             without asking"
        )
        .into());
    }
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_one_and_silence_is_refused() {
        let ask = |mut typed: &[u8]| {
            let mut shown = Vec::new();
            let agreed = ask(&mut typed, &mut shown, "This removes all.");
            (agreed, String::from_utf8(shown).expect("text"))
        };
        for typed in [&b"y\n"[..], b"YES\n", b" y"] {
            let (agreed, shown) = ask(typed);
            assert!(agreed.expect("an answer"));
            assert_eq!(shown, "This removes all.\nContinue? [y/N] ");
        }
        for typed in [&b"\n"[..], b"n\n", b"yy\n", &[b'y'; 100]] {
            assert!(!ask(typed).0.expect("an answer"));
        }
        let refused = ask(b"").0.expect_err("nobody");
        assert!(refused.line().contains("--force"));
    }
}
