//! What a benchmark found, and its faces: a table on the terminal, JSON, Markdown, and a page of HTML
//! with plots.

mod cell;
mod conditions;
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

/// One benchmark's outcome.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Its name, as `fs`, with the options that make another benchmark of it.
    pub(crate) benchmark: String,
    /// What is typed to repeat it.
    pub(crate) command: String,
    /// When it ended, in seconds since 1970.
    pub(crate) measured_s: i64,
    pub(crate) machine: Machine,
    pub(crate) tables: Vec<Table>,
    pub(crate) targets: Vec<Target>,
}

/// Something that must hold, and whether it does.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Target {
    pub(crate) met: bool,
    /// What was found, with what was wanted.
    pub(crate) words: String,
}

impl Report {
    /// What `benchmark` found on this machine, now, by the command line of this process.
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

    /// The day it was measured, as 2026-01-31.
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

    /// Judged: `met` or `MISSED`.
    const fn verdict(&self) -> &'static str {
        if self.met { "met" } else { "MISSED" }
    }
}

/// What is typed to measure the same again; how it is shown is not of it.
fn command(mut words: impl Iterator<Item = String>) -> String {
    let mut command = String::from("msb");
    while let Some(word) = words.next() {
        let (option, has_value) = match word.split_once('=') {
            Some((option, _)) => (option, true),
            None => (word.as_str(), false),
        };
        if !Showing::OPTIONS.contains(&option) {
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
        let typed = "bench fs --html a.html --rounds 3 --results=b.md --format json image";
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
