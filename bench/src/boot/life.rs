use anyhow::{Context as _, Result};

use super::starts::Starts;
use super::{Arguments, COMMAND, CPUS, MEMORY};
use crate::msb::Msb;
use crate::report::{Cell, Conditions, Plot, Row, Table, Unit};
use crate::sandbox::Sandbox;

const STAGES: [&str; 5] = ["create", "start", "first byte", "stop", "remove"];

/// Seconds of each stage.
type Life = [f64; STAGES.len()];

/// The lifecycles of all counted rounds.
#[derive(Default)]
pub(super) struct Lives {
    stages: [Vec<f64>; STAGES.len()],
}

/// Runs a sandbox through its lifecycle, with one command for each stage.
pub(super) fn once(arguments: &Arguments, msb: &Msb, starts: &mut Starts) -> Result<Life> {
    starts.again(|starts| {
        // Dropping the sandbox also removes the leftovers of a lost start.
        let sandbox = Sandbox::named(msb, "boot");
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
        let end = |word: &str| {
            let seconds = starts.timed(msb.command().args([word, &sandbox.name]))?;
            seconds.with_context(|| format!("msb {word} failed"))
        };
        Ok(Some([
            create_s,
            start_s,
            exec.first_byte_s,
            end("stop")?,
            end("rm")?,
        ]))
    })
}

impl Lives {
    pub(super) fn add(&mut self, life: Life) {
        for (all, one) in self.stages.iter_mut().zip(life) {
            all.push(one);
        }
    }

    /// Returns the time of creating a sandbox.
    pub(super) fn create(&self) -> Cell {
        Cell::from_rounds(self.stages[0].clone())
    }

    /// Returns the time of creating and starting a sandbox.
    pub(super) fn create_and_start(&self) -> Cell {
        let [create, start, ..] = &self.stages;
        let both = create.iter().zip(start);
        Cell::from_rounds(both.map(|(create, start)| create + start).collect())
    }

    pub(super) fn table(&self, conditions: Conditions) -> Table {
        let cells = self
            .stages
            .iter()
            .map(|rounds| Some(Cell::from_rounds(rounds.clone())));
        Table {
            title: "A sandbox's life, a command a stage".to_owned(),
            conditions,
            unit: Unit::Seconds,
            columns: STAGES.map(str::to_owned).into(),
            baseline: None,
            rows: vec![Row::new("one sandbox", cells.collect())],
            plot: Plot::Stacked,
        }
    }
}
