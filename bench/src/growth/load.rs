use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::image::Shape;
use super::{Arguments, conditions};
use crate::measure::{self, Cost};
use crate::msb::{Msb, this_program};
use crate::report::{Cell, Durability, Plot, Row, Table, Target, Unit};

/// The largest ratio of the time with the most whiteouts to the time with none.
const WHITEOUTS_MAX: f64 = 1.3;
/// The most memory that a load may use, for an image with less than 32 MiB of metadata.
const MEMORY_MAX_MIB: f64 = 128.0;
/// A number of files whose metadata stays below that size.
const MEMORY_FILES: f64 = 100_000.0;

/// The program and the arguments that all points share.
pub(super) struct Fixture<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) msb: &'a Msb,
}

/// The costs of one point, round by round.
#[derive(Default)]
struct Point {
    msb: Vec<Cost>,
    bound: Vec<Cost>,
}

impl Fixture<'_> {
    /// Returns two tables: the time of a load, and its peak memory.
    pub(super) fn series(
        &self,
        of: &str,
        place: fn(&Shape) -> u32,
        shapes: &[Shape],
    ) -> Result<Vec<Table>> {
        let (mut times, mut memory) = (Vec::new(), Vec::new());
        if shapes.is_empty() {
            return Ok(Vec::new());
        }
        for shape in shapes {
            let point = self.point(shape)?;
            let row = |figure: fn(&Cost) -> f64| {
                let cell =
                    |costs: &[Cost]| Some(Cell::from_rounds(costs.iter().map(figure).collect()));
                let at = place(shape);
                Row::at(
                    f64::from(at),
                    at.to_string(),
                    vec![cell(&point.bound), cell(&point.msb)],
                )
            };
            times.push(row(|cost| cost.wall_s));
            memory.push(row(|cost| cost.peak_memory_bytes as f64));
        }
        let note = "files of 100 bytes in plain tars";
        let table = |title: String, unit, rows| Table {
            title,
            conditions: conditions(self.arguments, Durability::Synced, note),
            unit,
            columns: vec!["the bound".to_owned(), "msb load".to_owned()],
            baseline: Some(0),
            rows,
            plot: Plot::Lines,
        };
        Ok(vec![
            table(format!("Load by {of}: time"), Unit::Seconds, times),
            table(format!("Load by {of}: most memory"), Unit::Bytes, memory),
        ])
    }

    fn point(&self, shape: &Shape) -> Result<Point> {
        let layout = tempfile::tempdir_in(&self.arguments.work)?;
        shape.write(layout.path())?;
        let mut point = Point::default();
        for round in 0..=self.arguments.rounds {
            let costs = (self.load(layout.path())?, self.bound(layout.path())?);
            if round > 0 {
                point.msb.push(costs.0);
                point.bound.push(costs.1);
            }
        }
        Ok(point)
    }

    fn load(&self, layout: &Path) -> Result<Cost> {
        let home = tempfile::tempdir_in(&self.arguments.work)?;
        let mut command = self.msb.in_home(home.path()).command();
        command.args(["load", "--quiet", "--tag", "bench/image:latest"]);
        measure::cost(command.arg(layout), home.path())
    }

    fn bound(&self, layout: &Path) -> Result<Cost> {
        let directory = tempfile::tempdir_in(&self.arguments.work)?;
        let mut command = Command::new(this_program()?);
        command.arg("bound").args([layout, directory.path()]);
        measure::cost(&command, directory.path())
    }
}

/// Judges the series of files: memory has a limit.
pub(super) fn memory_targets(tables: &[Table]) -> Vec<Target> {
    let Some(memory) = tables.last() else {
        return Vec::new();
    };
    let rows = memory
        .rows
        .iter()
        .filter(|row| row.at.is_some_and(|at| at <= MEMORY_FILES));
    let most = rows
        .filter_map(|row| Some(row.cell(1)?.spread()?.most))
        .max_by(f64::total_cmp);
    let judged = most.map(|most| {
        let most_mib = most / 1_048_576.0;
        Target::new(
            most_mib <= MEMORY_MAX_MIB,
            format!(
                "up to {MEMORY_FILES} files: {most_mib:.0} MiB of memory (at most {MEMORY_MAX_MIB})"
            ),
        )
    });
    judged.into_iter().collect()
}

/// Judges the series of whiteouts: the most may cost little more than none.
pub(super) fn whiteout_targets(tables: &[Table]) -> Vec<Target> {
    let ends = tables.first().and_then(|times| {
        let first = times.rows.first()?;
        let last = times.rows.last()?;
        let ratio = last.cell(1)?.ratio_to(first.cell(1)?)?;
        Some((last.name.clone(), ratio.median))
    });
    let judged = ends.map(|(whiteouts, ratio)| {
        Target::new(
            ratio <= WHITEOUTS_MAX,
            format!(
                "{whiteouts} whiteouts: {ratio:.2} of the time without (at most {WHITEOUTS_MAX})"
            ),
        )
    });
    judged.into_iter().collect()
}
