use std::io::{self, IsTerminal as _, Write as _};

use msb_bench_runner::{Line, Record};

/// The control characters that return to the start of the line and clear it.
const AGAIN: &str = "\r\x1b[K";

/// The last workload that was run, on a line of the terminal. Dropping this clears the line.
pub(super) struct Progress {
    is_shown: bool,
}

impl Progress {
    /// Returns a display that is active if standard error is a terminal.
    pub(super) fn on_terminal() -> Self {
        Self {
            is_shown: io::stderr().is_terminal(),
        }
    }

    /// Shows the workload that was just measured.
    pub(super) fn send(&self, line: &Line) {
        if let (true, Line::Measured(record)) = (self.is_shown, line) {
            show(&words(record));
        }
    }
}

fn words(record: &Record) -> String {
    // A guest can choose any names, so only printable characters of them are shown.
    let plain = |name: &str| -> String {
        name.chars()
            .filter(char::is_ascii_graphic)
            .take(40)
            .collect()
    };
    format!(
        "round {}: {} in {}",
        record.round.saturating_add(1),
        plain(&record.workload),
        plain(&record.place)
    )
}

fn show(words: &str) {
    let mut terminal = io::stderr().lock();
    // Without a terminal there is no progress to show.
    let _ = write!(terminal, "{AGAIN}{words}").and_then(|()| terminal.flush());
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            show("");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Record, words};

    #[test]
    fn a_guest_cannot_write_to_the_terminal() {
        let record = Record {
            workload: "scan\x1b[2J\n".to_owned(),
            place: "x".repeat(100),
            ..Record::default()
        };
        assert_eq!(
            words(&record),
            format!("round 1: scan[2J in {}", "x".repeat(40))
        );
    }
}
