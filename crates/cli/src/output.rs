use std::io::{self, IsTerminal as _};

use clap::ValueEnum;
use serde::Serialize;

use crate::failure::printable;

/// How a listing is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns, for people
    #[default]
    Table,
    /// JSON, for programs; keys are stable
    Json,
}

/// Prints text on standard output. A reader that went away is not an error.
pub(crate) fn print(text: &str) -> io::Result<()> {
    offer(text).map(|_| ())
}

/// Prints text on standard output. Whether somebody still reads there.
pub(crate) fn offer(text: &str) -> io::Result<bool> {
    let offered = offer_to(&mut io::stdout().lock(), text);
    offered.map_err(|error| Stream::Stdout.unwritable(error))
}

/// Where this process writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// A stream that takes nothing more. What it leads to is not known: it is no file of msb's.
#[derive(Debug)]
pub(crate) struct Unwritable {
    stream: Stream,
    source: io::Error,
}

impl Stream {
    /// An error of this stream, which is said to be one.
    pub(crate) fn unwritable(self, source: io::Error) -> io::Error {
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

/// Prints a value as indented JSON.
pub(crate) fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut json = serde_json::to_string_pretty(value)?;
    json.push('\n');
    print(&json)
}

/// Prints rows in columns, headed.
pub(crate) fn print_table<const N: usize>(
    header: [&str; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    print(&table(header, rows))
}

/// Rows in columns, headed.
pub(crate) fn table<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> String {
    let header = header.map(str::to_owned);
    let rows = rows
        .iter()
        .map(|row| row.each_ref().map(|cell| printable(cell)));
    let lines: Vec<[String; N]> = std::iter::once(header).chain(rows).collect();
    let widths: [usize; N] = std::array::from_fn(|column| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    });
    let mut text = String::new();
    for line in &lines {
        let cells: Vec<String> = line
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text.push_str(cells.join("   ").trim_end());
        text.push('\n');
    }
    text
}

/// Says something to the user beside the data, on standard error.
#[expect(
    clippy::print_stderr,
    reason = "the one place where notices are printed"
)]
pub(crate) fn notice(text: &str) {
    eprintln!("msb: {text}");
}

/// The same on a line of its own, where a terminal stands in the midst of another.
pub(crate) fn notice_below(text: &str) {
    if io::stderr().is_terminal() {
        notice_on(&mut io::stderr().lock(), &format!("\r\nmsb: {text}\n"));
    } else {
        notice(text);
    }
}

/// A notice that nobody can be shown is no reason to end.
fn notice_on(out: &mut impl io::Write, text: &str) {
    let _ = out.write_all(text.as_bytes());
}

/// Whether progress is worth drawing.
pub(crate) fn progress_is_seen(quiet: bool) -> bool {
    !quiet && io::stderr().is_terminal()
}

/// A size as docker prints it: decimal units, three digits.
pub(crate) fn human_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut divisor = 1_u64;
    let mut unit = 0;
    while bytes / divisor >= 1000 && unit + 1 < UNITS.len() {
        divisor *= 1000;
        unit += 1;
    }
    let whole = bytes / divisor;
    let tenth = bytes % divisor * 10 / divisor;
    if unit == 0 || whole >= 100 {
        format!("{whole}{}", UNITS[unit])
    } else {
        format!("{whole}.{tenth}{}", UNITS[unit])
    }
}

/// How long ago a time was, as docker prints it.
pub(crate) fn human_age(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

/// Seconds since the epoch.
pub(crate) fn now_s() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// A size as users type it: a number and `K`, `M`, `G` or `T` (powers of 1024), `B` or `iB` after
/// it as they like.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let digits_end = lower
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(lower.len());
    let (digits, unit) = lower.split_at(digits_end);
    let shift = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(format!("'{text}' is not a size; write 512M or 8G")),
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| format!("'{text}' is not a size; write 512M or 8G"))?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| format!("'{text}' is too large"))
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
    fn sizes_are_read_and_shown() {
        assert_eq!(parse_size("16M"), Ok(16 << 20));
        assert_eq!(parse_size("8GiB"), Ok(8 << 30));
        assert_eq!(parse_size("1t"), Ok(1 << 40));
        assert_eq!(parse_size("4096"), Ok(4096));
        assert!(parse_size("x").is_err() && parse_size("1x").is_err() && parse_size("").is_err());
        assert_eq!(human_size(999), "999B");
        assert_eq!(human_size(1_500), "1.5kB");
        assert_eq!(human_size(270_300_000), "270MB");
    }
}
