//! Texts, notices and JSON on standard output and standard error, and numbers as people read them.

use std::io::{self, IsTerminal as _};

use clap::ValueEnum;
use msb_sdk::Size;
use serde::Serialize;

use crate::terminal;

/// The format of a listing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns, for people
    #[default]
    Table,
    /// JSON, for programs; keys are stable
    Json,
}

/// Prints text on standard output. A closed pipe is not an error.
pub fn print(text: &str) -> io::Result<()> {
    offer(text).map(|_| ())
}

/// Prints text on standard output. Returns true if it still has a reader. If standard output is a
/// terminal, hidden characters are escaped.
pub fn offer(text: &str) -> io::Result<bool> {
    if terminal::stdout_is_terminal() {
        offer_unescaped(&terminal_text::escaped_lines(text))
    } else {
        offer_unescaped(text)
    }
}

/// Prints text of msb's own on standard output, which may control a terminal. Returns true if standard
/// output still has a reader.
pub fn offer_unescaped(text: &str) -> io::Result<bool> {
    let offered = offer_to(&mut io::stdout().lock(), text);
    offered.map_err(|error| Stream::Stdout.unwritable(error))
}

/// A stream that this process writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A stream that cannot be written to. It may lead anywhere, so an error such as a full disk is not
/// msb's own.
#[derive(Debug)]
pub struct Unwritable {
    stream: Stream,
    source: io::Error,
}

impl Stream {
    /// Returns an error that names this stream.
    pub fn unwritable(self, source: io::Error) -> io::Error {
        let stream = self;
        io::Error::other(Unwritable { stream, source })
    }
}

impl std::fmt::Display for Unwritable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.stream {
            Stream::Stdout => "cannot write to standard output",
            Stream::Stderr => "cannot write to standard error",
        })
    }
}

impl std::error::Error for Unwritable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

fn offer_to(out: &mut impl io::Write, text: &str) -> io::Result<bool> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error),
    }
}

/// Prints a value as indented JSON, in which hidden characters are written as `\u....`.
pub fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut json = pretty_json(value)?;
    json.push('\n');
    print(&json)
}

/// Returns a value as indented JSON without hidden characters.
pub fn pretty_json(value: &impl Serialize) -> io::Result<String> {
    let json = serde_json::to_string_pretty(value)?;
    Ok(terminal_text::escaped_json(&json).into_owned())
}

/// Returns a value as JSON on one line, without hidden characters.
pub fn json_line(value: &impl Serialize) -> io::Result<String> {
    let json = serde_json::to_string(value)?;
    Ok(terminal_text::escaped_json(&json).into_owned())
}

/// Prints a notice on standard error, apart from the data on standard output.
#[expect(
    clippy::print_stderr,
    reason = "the one place where notices are printed"
)]
pub fn notice(text: &str) {
    eprintln!("msb: {}", terminal_text::escaped_lines(text));
}

/// Prints a whole sentence on standard error, the answer to a command line that msb refuses.
#[expect(clippy::print_stderr, reason = "the sentence says itself who speaks")]
pub fn answer(sentence: &str) {
    eprintln!("{}", terminal_text::escaped_lines(sentence));
}

/// Prints a notice on a new line: the terminal's cursor may be within a line of the command's
/// output.
pub fn notice_below(text: &str) {
    let notice = below(text, io::stderr().is_terminal());
    // A failure is ignored, because the command's work does not depend on a notice.
    let _ = io::Write::write_all(&mut io::stderr().lock(), notice.as_bytes());
}

/// Formats a notice that follows the output of a command.
fn below(text: &str, is_terminal: bool) -> String {
    let new_line = if is_terminal { "\r\n" } else { "" };
    format!("{new_line}msb: {}\n", terminal_text::escaped_lines(text))
}

/// Returns true if progress is shown.
pub fn progress_is_seen(quiet: bool) -> bool {
    !quiet && io::stderr().is_terminal()
}

/// Formats a size as Docker does: decimal units, three digits.
pub fn human_size(bytes: u64) -> String {
    Size::new(bytes).human()
}

/// Formats the time since an event as Docker does.
pub fn human_age(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

/// Shortens `text` to at most `length_max` characters. The last one is an ellipsis if characters
/// were left out.
pub fn cut(text: &str, length_max: usize) -> String {
    if text.chars().count() <= length_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(length_max.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Formats a time, in seconds since the epoch, as RFC 3339 in UTC.
pub fn time(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok();
    let time = time.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.unwrap_or_default().to_string()
}

/// Parses a size as users type it, such as `512M` or `1.5G`, in bytes.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let size = text.parse().map(Size::bytes);
    size.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_went_away_is_known() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        assert!(offer_to(&mut writer, "text").expect("written"));
        drop(reader);
        assert!(!offer_to(&mut writer, "text").expect("no error"));
        let mut full: &mut [u8] = &mut [0; 2];
        assert!(offer_to(&mut full, "text").is_err());
    }

    #[test]
    fn a_notice_below_output_has_a_line_of_its_own() {
        // The cursor of a terminal stands behind a prompt.
        let screen = format!("/ # {}", below("left work running", true));
        assert_eq!(screen, "/ # \r\nmsb: left work running\n");
        // What is no terminal has no prompt, and gets no empty line.
        assert_eq!(
            below("left work running", false),
            "msb: left work running\n"
        );
    }

    #[test]
    fn sizes_are_read_and_shown() {
        assert_eq!(parse_size("1.5G"), Ok(3 << 29));
        let message = "'x' is not a size: write one such as 512M or 1.5G";
        assert_eq!(parse_size("x"), Err(message.to_owned()));
        assert_eq!(cut("sleep infinity", 14), "sleep infinity");
        assert_eq!(cut("sleep infinity", 6), "sleep…");
        assert_eq!(time(1_700_000_000), "2023-11-14T22:13:20Z");
        assert_eq!(human_size(999), "999B");
        assert_eq!(human_size(1_500), "1.5kB");
        assert_eq!(human_size(270_300_000), "270MB");
    }
}
