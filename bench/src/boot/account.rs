use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;

use super::starts::{Starts, Times};
use super::{Arguments, COMMAND, CPUS, MEMORY};
use crate::msb::Msb;
use crate::report::{Cell, Conditions, Plot, Row, Table, Unit};

/// The marks of a timeline, each with the name of the stage that ends there.
const STAGES: [(&str, &str); 12] = [
    ("process-up", "msb up"),
    ("image-checked", "image"),
    ("sandbox-created", "create"),
    ("machine-process-up", "machine's process"),
    ("vmm-entered", "to the VMM"),
    ("kernel", "to the kernel"),
    ("agent-main", KERNEL),
    ("mounts-done", "mounts"),
    ("agent-answered", "agent answers"),
    ("command-started", "command starts"),
    ("first-byte", "first byte"),
    ("exit-seen", "exit seen"),
];
/// The stage from the guest's first second to its agent.
const KERNEL: &str = "kernel";
/// The stage after the last mark.
const LAST: &str = "msb ends";

/// Notes for the reader of the table.
pub(super) const NOTES: &[&str] = &[
    "a column is the time from the mark before; 'to the kernel' ends where the guest's uptime begins",
    "the guest's marks are told by its own clock, back from its first answer",
];

/// The seconds of each stage of one run, and of the whole run.
pub(super) struct Account {
    stages: Vec<f64>,
    times: Times,
}

/// The times of all counted rounds.
#[derive(Default)]
pub(super) struct Accounts {
    accounts: Vec<Account>,
}

/// A line of a timeline.
#[derive(Deserialize)]
struct Line {
    mark: String,
    monotonic_us: u64,
}

/// Runs `msb run` and reads its timeline.
pub(super) fn once(arguments: &Arguments, msb: &Msb, starts: &mut Starts) -> Result<Account> {
    starts.again(|starts| {
        let timeline = tempfile::NamedTempFile::new()?;
        let mut run = msb.command();
        run.env("MSB_TIMELINE", timeline.path());
        run.args(["run", "--quiet", "--rm", "--pull", "never"]);
        run.args(["--vmm", &arguments.vmm, "--cpus", CPUS, "--memory", MEMORY]);
        run.args(["--boot-timeout", &starts.limit_s(), &arguments.image]);
        let typed_us = monotonic_us();
        let Some(times) = starts.first_byte(run.args(COMMAND))? else {
            return Ok(None);
        };
        let stages = stages(timeline.path(), typed_us, monotonic_us())?;
        Ok(Some(Account { stages, times }))
    })
}

impl Account {
    /// Returns the seconds from the guest's first to the start of its agent.
    pub(super) fn kernel_s(&self) -> f64 {
        let stage = STAGES.iter().position(|(_, stage)| *stage == KERNEL);
        stage
            .and_then(|stage| self.stages.get(stage).copied())
            .unwrap_or(f64::NAN)
    }

    pub(super) const fn first_byte_s(&self) -> f64 {
        self.times.first_byte_s
    }
}

fn stages(timeline: &Path, typed_us: u64, ended_us: u64) -> Result<Vec<f64>> {
    let text = std::fs::read_to_string(timeline)?;
    let mut marks = BTreeMap::new();
    for line in text.lines() {
        let line: Line = serde_json::from_str(line).context("cannot parse the timeline")?;
        marks.insert(line.mark, line.monotonic_us);
    }
    let mut before_us = typed_us;
    let mut seconds = Vec::with_capacity(STAGES.len() + 1);
    for (mark, _) in STAGES {
        let mark_us = marks.get(mark);
        let mark_us = *mark_us.with_context(|| format!("the timeline has no mark {mark}"))?;
        seconds.push(seconds_between(before_us, mark_us));
        before_us = mark_us;
    }
    seconds.push(seconds_between(before_us, ended_us));
    Ok(seconds)
}

/// Returns 0 if the times are out of order, because an emulated guest's clock is wrong.
fn seconds_between(from_us: u64, to_us: u64) -> f64 {
    to_us.saturating_sub(from_us) as f64 / 1e6
}

fn monotonic_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec.cast_unsigned() * 1_000_000).saturating_add(now.tv_nsec.cast_unsigned() / 1_000)
}

impl Accounts {
    pub(super) fn add(&mut self, account: Account) {
        self.accounts.push(account);
    }

    /// Returns the time from the typed command to the first byte.
    pub(super) fn first_byte(&self) -> Cell {
        self.of_times(|times| times.first_byte_s)
    }

    fn of_times(&self, part: impl Fn(&Times) -> f64) -> Cell {
        Cell::from_rounds(self.accounts.iter().map(|one| part(&one.times)).collect())
    }

    /// Returns the table of the times to the first byte and to the end.
    pub(super) fn whole_table(&self, conditions: Conditions) -> Table {
        let cells = vec![
            Some(self.first_byte()),
            Some(self.of_times(|times| times.end_s)),
        ];
        Table {
            title: "From msb run to its first byte and its end".to_owned(),
            conditions,
            unit: Unit::Seconds,
            columns: ["first byte", "end"].map(str::to_owned).into(),
            baseline: None,
            rows: vec![Row::new("msb run --rm", cells)],
            plot: Plot::None,
        }
    }

    /// Returns the table of the stages of the same runs.
    pub(super) fn table(&self, conditions: Conditions) -> Table {
        let stages = STAGES.iter().map(|(_, stage)| *stage).chain([LAST]);
        let cell = |stage: usize| {
            let rounds = self.accounts.iter();
            Some(Cell::from_rounds(
                rounds
                    .filter_map(|one| one.stages.get(stage).copied())
                    .collect(),
            ))
        };
        Table {
            title: "Where msb run's time goes".to_owned(),
            conditions,
            unit: Unit::Seconds,
            columns: stages.map(str::to_owned).collect(),
            baseline: None,
            rows: vec![Row::new(
                "msb run --rm",
                (0..=STAGES.len()).map(cell).collect(),
            )],
            plot: Plot::Stacked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_the_time_from_the_mark_before() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("timeline");
        let mut text = String::new();
        for (number, (mark, _)) in STAGES.iter().enumerate() {
            let monotonic_us = 1_000_000 * (number + 1);
            text.push_str(&format!(
                "{{\"mark\":\"{mark}\",\"monotonic_us\":{monotonic_us}}}\n"
            ));
        }
        std::fs::write(&path, &text).expect("written");
        let stages = stages(&path, 500_000, 12_250_000).expect("complete");
        assert_eq!((stages[0], stages[1], stages[12]), (0.5, 1.0, 0.25));
        std::fs::write(&path, text.replace("kernel", "colonel")).expect("written");
        let error = super::stages(&path, 0, 1).expect_err("a mark is missing");
        assert!(error.to_string().contains("kernel"), "{error}");
    }
}
