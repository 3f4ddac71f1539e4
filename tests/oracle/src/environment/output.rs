//! The output of a case's command, as values.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::Values;

/// The echo of the end of `script`'s input, which a terminal shows at any moment: the character for the
/// end, or NUL where the client has made the terminal raw.
const ECHOES: [&str; 2] = ["^D\u{8}\u{8}", "^@"];

/// The directory of terminals, each of which has a number there.
const TERMINALS: &str = "/dev/pts/";

/// Returns the command that runs `line` in a terminal of 30 lines and 100 columns.
pub(super) fn at_terminal(line: &Command) -> Command {
    let quoted =
        |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy().replace('\'', "'\\''"));
    let mut words = vec![quoted(line.get_program())];
    words.extend(line.get_args().map(quoted));
    let script = format!("stty cols 100 rows 30; exec {}", words.join(" "));
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &script, "/dev/null"]);
    test_support::inherit_variables(&mut command, line);
    command
}

/// Returns the values that `process-dump` printed, and those of `env --list-signal-handling`.
pub(super) fn values(output: &[u8]) -> Result<Values> {
    let text = std::str::from_utf8(output).context("the output is no text")?;
    let mut values = Values::new();
    for line in text.lines().map(|line| without_echo(line.trim_end())) {
        if let Some((path, value)) = line.split_once(" = ") {
            values.insert(path.to_owned(), without_number(value).to_owned());
        } else if let Some(path) = line.strip_suffix(" =") {
            values.insert(path.to_owned(), String::new());
        } else if let Some((signal, handling)) = line.split_once("): ") {
            let name = signal.split_whitespace().next().unwrap_or(signal);
            values.insert(format!("signals.start.{name}"), handling.to_owned());
        }
    }
    ensure!(values.len() > 100, "the output is no dump: {text:?}");
    Ok(values)
}

/// Returns a value without the number of a terminal, which is the first one free: docker keeps that of a
/// command for a moment after its end.
fn without_number(value: &str) -> &str {
    let number = value.strip_prefix(TERMINALS);
    let is_terminal = number.is_some_and(|number| number.parse::<u32>().is_ok());
    if is_terminal { TERMINALS } else { value }
}

fn without_echo(line: &str) -> &str {
    let shown = ECHOES.iter().find_map(|echo| line.strip_prefix(echo));
    shown.unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::{without_echo, without_number};

    #[test]
    fn the_number_of_a_terminal_is_no_part_of_a_value() {
        for terminal in ["/dev/pts/0", "/dev/pts/12"] {
            assert_eq!(without_number(terminal), "/dev/pts/");
        }
        for other in ["/dev/pts/ptmx", "/dev/null", "pipe:[1]"] {
            assert_eq!(without_number(other), other);
        }
    }

    #[test]
    fn the_end_of_the_input_is_no_part_of_a_value() {
        for echoed in ["^@a = b", "^D\u{8}\u{8}a = b", "a = b"] {
            assert_eq!(without_echo(echoed), "a = b");
        }
    }
}
