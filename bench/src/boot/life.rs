use std::time::Duration;

use anyhow::{Context as _, Result};

use super::starts::Starts;
use super::{Arguments, COMMAND, CPUS, MEMORY};
use crate::msb::Msb;
use crate::report::{Cell, Conditions, Plot, Row, Table, Target, Unit};
use crate::sandbox::Sandbox;

const STAGES: [&str; 5] = ["create", "start", "first byte", "stop", "remove"];

/// Seconds of each stage.
type Life = [f64; STAGES.len()];

/// The names of the rows: the second sandbox lives while the first runs.
const ROWS: [&str; 2] = ["one sandbox", "a second one beside it"];

/// The conditions of the times, for the report.
pub(super) const NOTES: [&str; 2] = [
    "a start ends when the guest's agent answers",
    "2 s pass before each round's first sandbox",
];

/// The largest allowed share of the first sandbox's time that the second takes from its creation to the
/// first byte.
const SECOND_SHARE: f64 = 1.05;

/// The time between the end of a round and the next one's first sandbox. Right after a sandbox has ended, a
/// host may start another one faster, whether or not one runs; the second one of a round has no such start.
const PAUSE: Duration = Duration::from_secs(2);

/// The lifecycles of all counted rounds: of a sandbox, and of a second one beside it.
#[derive(Default)]
pub(super) struct Lives {
    stages: [[Vec<f64>; STAGES.len()]; ROWS.len()],
}

/// A sandbox that has printed its first byte.
struct Running<'a> {
    msb: &'a Msb,
    sandbox: Sandbox,
    create_s: f64,
    start_s: f64,
    first_byte_s: f64,
}

/// Runs two sandboxes of the same image through their lifecycles, with one command for each stage.
pub(super) fn once(
    arguments: &Arguments,
    msb: &Msb,
    starts: &mut Starts,
) -> Result<[Life; ROWS.len()]> {
    starts.again(|starts| {
        std::thread::sleep(PAUSE);
        let Some(first) = Running::start(arguments, msb, starts, "boot")? else {
            return Ok(None);
        };
        let Some(second) = Running::start(arguments, msb, starts, "boot-second")? else {
            return Ok(None);
        };
        let second = second.end(starts)?;
        Ok(Some([first.end(starts)?, second]))
    })
}

impl<'a> Running<'a> {
    /// Creates and starts a sandbox. `None` if the start is lost.
    fn start(
        arguments: &Arguments,
        msb: &'a Msb,
        starts: &Starts,
        name: &str,
    ) -> Result<Option<Self>> {
        // Dropping the sandbox also removes the leftovers of a lost start.
        let sandbox = Sandbox::named(msb, name);
        let mut create = msb.command();
        create.args(["create", "--quiet", "--pull", "never", "--name"]);
        create.args([&sandbox.name, "--cpus", CPUS, "--memory", MEMORY]);
        create.args(["--no-command", &arguments.image]);
        let mut start = msb.command();
        start.args(["start", "--vmm", &arguments.vmm]);
        start.args(["--boot-timeout", &starts.limit_s(), &sandbox.name]);
        let create_s = starts.timed(&mut create)?.context("msb create failed")?;
        let Some(start_s) = starts.timed(&mut start)? else {
            return Ok(None);
        };
        let exec = starts.first_byte(sandbox.exec(&[]).args(COMMAND))?;
        let exec = exec.context("msb exec printed nothing")?;
        Ok(Some(Self {
            msb,
            sandbox,
            create_s,
            start_s,
            first_byte_s: exec.first_byte_s,
        }))
    }

    /// Stops and removes the sandbox, and returns the seconds of all its stages.
    fn end(self, starts: &Starts) -> Result<Life> {
        let timed = |word: &str| {
            let seconds = starts.timed(self.msb.command().args([word, &self.sandbox.name]))?;
            seconds.with_context(|| format!("msb {word} failed"))
        };
        let (stop_s, remove_s) = (timed("stop")?, timed("rm")?);
        Ok([
            self.create_s,
            self.start_s,
            self.first_byte_s,
            stop_s,
            remove_s,
        ])
    }
}

impl Lives {
    pub(super) fn add(&mut self, lives: [Life; ROWS.len()]) {
        for (stages, life) in self.stages.iter_mut().zip(lives) {
            for (all, one) in stages.iter_mut().zip(life) {
                all.push(one);
            }
        }
    }

    /// Returns the time of creating a sandbox.
    pub(super) fn create(&self) -> Cell {
        let [[create, ..], _] = &self.stages;
        Cell::from_rounds(create.clone())
    }

    /// Returns the time of creating and starting a sandbox.
    pub(super) fn create_and_start(&self) -> Cell {
        let [[create, start, ..], _] = &self.stages;
        let both = create.iter().zip(start);
        Cell::from_rounds(both.map(|(create, start)| create + start).collect())
    }

    pub(super) fn table(&self, conditions: Conditions) -> Table {
        let row = |(name, stages): (&&str, &[Vec<f64>; STAGES.len()])| {
            let cells = stages.iter();
            let cells = cells.map(|rounds| Some(Cell::from_rounds(rounds.clone())));
            Row::new(*name, cells.collect())
        };
        Table {
            title: "A sandbox's life, a command a stage".to_owned(),
            conditions,
            unit: Unit::Seconds,
            columns: STAGES.map(str::to_owned).into(),
            baseline: None,
            rows: ROWS.iter().zip(&self.stages).map(row).collect(),
            plot: Plot::Stacked,
        }
    }

    /// Judges the second sandbox by the median of the rounds' ratios to the first.
    pub(super) fn target(&self) -> Target {
        let [first, second] = &self.stages;
        let share = to_first_byte(second).ratio_to(&to_first_byte(first));
        let share = share.map_or(f64::INFINITY, |share| share.median);
        Target::new(
            share <= SECOND_SHARE,
            format!(
                "create to first byte of a second sandbox: {share:.2} of the first one's time (at most {SECOND_SHARE})"
            ),
        )
    }
}

/// Returns the time from a sandbox's creation to its first byte.
fn to_first_byte([create, start, first_byte, ..]: &[Vec<f64>; STAGES.len()]) -> Cell {
    let rounds = create.iter().zip(start).zip(first_byte);
    Cell::from_rounds(
        rounds
            .map(|((create, start), first_byte)| create + start + first_byte)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_sandbox_is_judged_beside_the_first() {
        let target = |start_s| {
            let mut lives = Lives::default();
            lives.add([[0.1, 0.8, 0.1, 9.0, 9.0], [0.1, start_s, 0.1, 9.0, 9.0]]);
            lives.target()
        };
        assert!(target(0.8).met && !target(1.8).met);
        assert!(target(1.8).words.contains("2.00"), "{}", target(1.8).words);
    }
}
