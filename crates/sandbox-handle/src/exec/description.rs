//! The words with which an error describes a command.

use msb_client::{Text, printable};

/// The most characters of a command that an error shows.
const COMMAND_MAX: usize = 100;
/// The most characters of a line of output that an error shows.
const LINE_MAX: usize = 200;
/// The end of standard error in which its last line is looked for, in bytes.
const TAIL_BYTES: usize = 16 << 10;

/// Returns a command on one line, in quotes, cut if it is long.
pub(super) fn command(argv: &[Text]) -> String {
    format!("'{}'", shown(argv))
}

/// Returns a command on one line, cut if it is long.
fn shown(argv: &[Text]) -> String {
    let mut shown = String::new();
    for word in argv {
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(&printable(&word.to_string()));
        if shown.len() > COMMAND_MAX * 4 {
            break;
        }
    }
    cut(&shown, COMMAND_MAX)
}

/// Returns the last line of standard error that is not blank, cut if it is long; `None` if there is no such line.
pub(super) fn last_line(stderr: &[u8]) -> Option<String> {
    let tail = &stderr[stderr.len().saturating_sub(TAIL_BYTES)..];
    let text = String::from_utf8_lossy(tail);
    let line = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())?;
    Some(cut(&printable(line), LINE_MAX))
}

fn cut(text: &str, length_max: usize) -> String {
    match text.char_indices().nth(length_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_short_line() {
        let argv = ["/bin/sh", "-c", "echo a\n\u{1b}[31m"].map(Text::from);
        assert_eq!(command(&argv), "'/bin/sh -c echo a\\n\\u{1b}[31m'");
        let long = command(&[Text::from("x".repeat(5000))]);
        assert_eq!(long.chars().count(), COMMAND_MAX + 3);
    }

    #[test]
    fn the_last_line_of_standard_error_is_the_reason() {
        assert_eq!(last_line(b"one\nwhy\r\n\n").as_deref(), Some("why"));
        assert_eq!(last_line(b" \n"), None);
        let long = last_line(&vec![b'x'; 100_000]).expect("a line");
        assert_eq!(long.chars().count(), LINE_MAX + 1);
    }
}
