//! The writer of the log of a sandbox's network: a thread of the VMM process, which takes the reports of the network's
//! process.
//!
//! A guest may have taken that process over. It can report what it likes then, but not change what it reported before,
//! and neither the rate nor the size of what is written is its choice.

use std::io::{BufRead, Read as _};
use std::time::{Duration, Instant};

use msb_machine_records::json_lines::{LineWriter, NETWORK_LIMITS};
use msb_network::{NetworkReport, NetworkTotals};
use msb_runtime::SandboxPaths;

use crate::log::log_line;

/// The most reports that are taken within [`SPAN`]: more than the 332 that a network writes. Further ones wait in the pipe,
/// which the network's process does not wait for.
const REPORTS_MAX: u32 = 512;
const SPAN: Duration = Duration::from_secs(1);

/// Writes the log and the counters until the network's process has ended.
pub(crate) fn keep(mut reports: impl BufRead, files: &SandboxPaths) {
    let mut log = match LineWriter::open(&files.network_log(), NETWORK_LIMITS.file_bytes) {
        Ok(log) => log,
        Err(error) => return log_line(&format!("the network is not logged: {error}")),
    };
    let mut failures = Failures::default();
    failures.note(replace(files, NetworkTotals::default()));
    let mut pace = Pace::new(Instant::now());
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reports
            .by_ref()
            .take(NETWORK_LIMITS.line_bytes)
            .read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            return;
        }
        match serde_json::from_slice(&line) {
            Ok(NetworkReport::Record(record)) => failures.note(log.add(&record)),
            Ok(NetworkReport::Totals(totals)) => failures.note(replace(files, totals)),
            // The process does not write such a line by itself.
            Err(_) => {}
        }
        std::thread::sleep(pace.count(Instant::now()));
    }
}

fn replace(files: &SandboxPaths, totals: NetworkTotals) -> std::io::Result<()> {
    let json = serde_json::to_vec(&totals)?;
    durable_files::replace_bytes(&files.network_totals(), &json)
}

/// The rate at which reports are taken.
struct Pace {
    since: Instant,
    count: u32,
}

impl Pace {
    const fn new(now: Instant) -> Self {
        Self {
            since: now,
            count: 0,
        }
    }

    /// Counts a report of this moment. Returns the time to wait before the next one is taken.
    fn count(&mut self, now: Instant) -> Duration {
        if now.saturating_duration_since(self.since) >= SPAN {
            (self.since, self.count) = (now, 0);
        }
        self.count += 1;
        if self.count < REPORTS_MAX {
            return Duration::ZERO;
        }
        SPAN.saturating_sub(now.saturating_duration_since(self.since))
    }
}

/// The failures to write, of which the first of each row is reported: a full disk would have many.
#[derive(Default)]
struct Failures {
    is_reported: bool,
}

impl Failures {
    fn note(&mut self, written: std::io::Result<()>) {
        if let Err(error) = &written
            && !self.is_reported
        {
            log_line(&format!("the log of the network lacks records: {error}"));
        }
        self.is_reported = written.is_err();
    }
}

#[cfg(test)]
mod tests {
    use fs_err as fs;
    use msb_machine_records::json_lines::LineReader;
    use msb_network::NetworkRecord;

    use super::*;

    const REPORTS: &str = r#"
{"record":{"time":"2026-11-27T02:41:03.120Z","event":"connect","flow":1,"proto":"tcp","name":"a\n{}\u001b[2J\u202e","address":"203.0.113.9","port":443,"verdict":"allowed","rule":"outbound"}}
{"totals":{"flows":1,"open_flows":1,"sent_bytes":7}}
nonsense
{"record":{"time":"2026-11-27T02:41:04.120Z","event":"close","flow":1,"sent":7,"received":0,"ms":1000,"end":"idle"}}
{"record":{"time":"2026-11-27T02:41:05.120Z","event":"dns","name":"LONG","type":"A","verdict":"denied","rule":"listed","code":"NXDOMAIN"}}
{"totals":{"flows":1,"sent_bytes":8}}
{"record":"#;

    #[test]
    fn reports_become_lines_that_no_guest_can_forge() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = SandboxPaths {
            directory: directory.path().to_owned(),
        };
        fs::create_dir(files.written()).expect("made");
        let reports = REPORTS.replace("LONG", &"x".repeat(100_000));
        // A second start continues the log.
        for _ in 0..2 {
            keep(reports.as_bytes(), &files);
        }
        let text = fs::read_to_string(files.network_log()).expect("read");
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.is_ascii() && !text.contains('\u{1b}'), "{text}");
        let mut reader = LineReader::open(&files.network_log(), NETWORK_LIMITS).expect("opened");
        let mut next = || reader.next_record::<NetworkRecord>().expect("read");
        assert!(next().is_some() && next().is_some());
        let totals = fs::read(files.network_totals()).expect("read");
        let totals: NetworkTotals = serde_json::from_slice(&totals).expect("JSON");
        assert_eq!(
            (totals.flows, totals.open_flows, totals.sent_bytes),
            (1, 0, 8)
        );
    }

    #[test]
    fn no_process_chooses_the_rate() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        for _ in 1..REPORTS_MAX {
            assert_eq!(pace.count(now), Duration::ZERO);
        }
        let half = now + SPAN / 2;
        assert_eq!(pace.count(half), SPAN / 2);
        assert_eq!(pace.count(now + SPAN), Duration::ZERO);
    }
}
