//! The result of a benchmark, and its output formats: a table on the terminal, JSON, Markdown, and
//! a page of HTML with plots.

mod cell;
mod conditions;
mod escape;
mod html;
mod machine;
mod markdown;
mod plot;
mod showing;
mod table;
mod terminal;
mod unit;

pub(crate) use cell::{Cell, Latency};
pub(crate) use conditions::{Cache, Conditions, Durability};
pub(crate) use machine::Machine;
pub(crate) use showing::Showing;
pub(crate) use table::{Plot, Row, Table};
pub(crate) use unit::Unit;

use serde::Serialize;

/// The options that `msb bench` adds.
const MSB_OPTIONS: [&str; 2] = ["--msb", "--home"];

/// The result of one benchmark.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The benchmark's name, such as `fs`, with the options that make it a different benchmark.
    pub(crate) benchmark: String,
    /// The command line that repeats it.
    pub(crate) command: String,
    /// The time of its end, in seconds since the epoch.
    pub(crate) measured_s: i64,
    pub(crate) machine: Machine,
    pub(crate) tables: Vec<Table>,
    pub(crate) targets: Vec<Target>,
}

/// A condition that must hold, and the verdict.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Target {
    pub(crate) met: bool,
    /// The figure found, with the figure wanted.
    pub(crate) words: String,
}

impl Report {
    /// Returns the report of `benchmark` on this machine. The time and the command line are the
    /// current ones of this process.
    pub(crate) fn new(
        benchmark: impl Into<String>,
        machine: Machine,
        tables: Vec<Table>,
        targets: Vec<Target>,
    ) -> Self {
        Self {
            benchmark: benchmark.into(),
            command: command(std::env::args().skip(1)),
            measured_s: jiff::Timestamp::now().as_second(),
            machine,
            tables,
            targets,
        }
    }

    /// Returns the day of the measurement, such as 2026-01-31.
    fn day(&self) -> String {
        jiff::Timestamp::from_second(self.measured_s).map_or_else(
            |_| String::new(),
            |time| time.strftime("%Y-%m-%d").to_string(),
        )
    }
}

impl Target {
    pub(crate) fn new(met: bool, words: impl Into<String>) -> Self {
        Self {
            met,
            words: words.into(),
        }
    }

    /// Returns the verdict: `met` or `MISSED`.
    const fn verdict(&self) -> &'static str {
        if self.met { "met" } else { "MISSED" }
    }
}

/// Returns the command line that repeats the measurement. It leaves out the options for the output
/// and the choice of the msb.
fn command(mut words: impl Iterator<Item = String>) -> String {
    let mut command = String::from("msb bench");
    while let Some(word) = words.next() {
        let (option, has_value) = match word.split_once('=') {
            Some((option, _)) => (option, true),
            None => (word.as_str(), false),
        };
        if !Showing::OPTIONS.contains(&option) && !MSB_OPTIONS.contains(&option) {
            command.push(' ');
            command.push_str(&word);
        } else if !has_value {
            words.next();
        }
    }
    command
}

#[cfg(test)]
mod sample;

#[cfg(test)]
mod tests {
    use super::{command, html, markdown, sample, terminal};

    #[test]
    fn a_command_is_told_without_how_it_was_shown() {
        let typed = "--msb /bin/msb --home=/h fs --html a.html --rounds 3 --results=b.md --format json image";
        let words = typed.split(' ').map(str::to_owned);
        assert_eq!(command(words), "msb bench fs --rounds 3 image");
    }

    #[test]
    fn a_report_on_the_terminal() {
        insta::assert_snapshot!(terminal::text(&sample::report()));
    }

    #[test]
    fn a_report_in_markdown() {
        insta::assert_snapshot!(markdown::with_section("", &sample::report()));
    }

    #[test]
    fn a_report_as_a_page() {
        let page = html::page(&sample::report());
        assert!(!page.contains("NaN") && !page.contains("inf\""), "{page}");
        assert!(!page.contains("<processor>"), "what it shows is escaped");
        insta::assert_snapshot!(page);
    }

    #[test]
    fn a_newer_report_takes_the_place_of_an_older_one() {
        let older = sample::report();
        let mut other = sample::report();
        other.benchmark = "other".to_owned();
        let mut newer = sample::report();
        newer.tables.clear();
        newer.targets.clear();
        let file = markdown::with_section("", &older);
        let file = markdown::with_section(&file, &other);
        let file = markdown::with_section(&file, &newer);
        assert_eq!(file.matches("## bench sample\n").count(), 1);
        assert_eq!(file.matches("## bench other\n").count(), 1);
        assert_eq!(file.matches("### Reading and writing").count(), 1);
    }
}
