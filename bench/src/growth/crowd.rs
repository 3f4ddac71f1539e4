use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::image::Shape;
use super::load::Fixture;
use super::{conditions, sandbox};
use crate::msb::{Msb, text};
use crate::report::{Cell, Durability, Plot, Row, Table, Target, Unit};
use crate::sandbox::Sandbox;

/// The numbers of running sandboxes at which a point is measured.
const COUNTS: [u32; 5] = [1, 10, 25, 50, 100];
/// The number of files in the image of all sandboxes.
const FILES: u32 = 1_000;

/// The most memory of the host for each of a hundred sandboxes under emulation, in MiB. It is 0.8 of what
/// they took with libkrunfw's kernel, when the target was set.
const CROWD_MAX_MIB: f64 = 138.0;

/// Starts sandboxes of one image beside running ones. Measures the time of each start, and the
/// host's memory for all of them.
pub(super) fn measure(fixture: &Fixture<'_>) -> Result<(Vec<Table>, Vec<Target>)> {
    let most = fixture.arguments.most_sandboxes;
    let counts: Vec<u32> = COUNTS.into_iter().filter(|&count| count <= most).collect();
    if counts.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let home = sandbox::home_of(fixture, &Shape::spread(1, FILES))?;
    let mut running = Vec::new();
    let (mut times, mut memory) = (Vec::new(), Vec::new());
    for &count in &counts {
        let mut took_s = Vec::new();
        while running.len() < count as usize {
            let (sandbox, start_s) = start(&home.msb, &fixture.arguments.vmm, running.len())?;
            running.push(sandbox);
            took_s.push(start_s);
        }
        let place = || (f64::from(count), count.to_string());
        let row = |cell| Row::at(place().0, place().1, vec![Some(cell)]);
        times.push(row(Cell::from_rounds(took_s)));
        memory.push(row(Cell::once(memory_bytes(&home.msb)? / f64::from(count))));
    }
    let table = |title: &str, unit, column: &str, rows| Table {
        title: title.to_owned(),
        conditions: conditions(
            fixture.arguments,
            Durability::None,
            "one image; sandboxes without a command, 1 CPU, 128 MiB, started one after the other and left running",
        ),
        unit,
        columns: vec![column.to_owned()],
        baseline: None,
        rows,
        plot: Plot::Lines,
    };
    let targets = memory.last().and_then(judge).into_iter().collect();
    let tables = vec![
        table(
            "Sandboxes at once: creation and start of the next",
            Unit::Seconds,
            "create and start",
            times,
        ),
        table(
            "Sandboxes at once: the host's memory for each",
            Unit::Bytes,
            "one sandbox",
            memory,
        ),
    ];
    Ok((tables, targets))
}

/// Judges the row of the most sandboxes.
fn judge(row: &Row) -> Option<Target> {
    let each_mib = row.cell(0)?.spread()?.median / f64::from(1 << 20);
    let words = format!(
        "each of {} sandboxes: {each_mib:.0} MiB of memory (at most {CROWD_MAX_MIB})",
        row.name
    );
    Some(Target::new(each_mib <= CROWD_MAX_MIB, words))
}

fn start(msb: &Msb, vmm: &str, number: usize) -> Result<(Sandbox, f64)> {
    let sandbox = Sandbox::named(msb, &format!("crowd-{number}"));
    let begun = Instant::now();
    let mut run = msb.command();
    run.args(["run", "--quiet", "--detach", "--pull", "never"])
        .args(["--no-command", "--network", "none", "--vmm", vmm])
        .args(["--cpus", "1", "--memory", "128m", "--name", &sandbox.name]);
    text(run.arg(sandbox::IMAGE))?;
    Ok((sandbox, begun.elapsed().as_secs_f64()))
}

/// Returns the memory of all running sandboxes together.
fn memory_bytes(msb: &Msb) -> Result<f64> {
    let stats = msb.output(["stats", "--no-stream", "--format", "json"])?;
    let stats: Value = serde_json::from_str(&stats)?;
    let all = stats.as_array().context("the statistics are not a list")?;
    let of_one = |stats: &Value| stats["host"]["memory_bytes"].as_f64();
    all.iter()
        .map(|stats| of_one(stats).context("the statistics do not contain the memory"))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_sandboxes_are_judged() {
        let row = |mib: f64| {
            let bytes = mib * f64::from(1 << 20);
            Row::at(100.0, "100".to_owned(), vec![Some(Cell::once(bytes))])
        };
        let met = |mib| judge(&row(mib)).expect("it was measured").met;
        assert!(met(130.0) && !met(172.0));
    }
}
