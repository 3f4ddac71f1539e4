//! Commands of a running sandbox with a snapshot before each, and their undo.

use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use super::guest::{Guest, RUNNER_PATH, STAGED_PATH};
use super::{Arguments, Measured, Shape, at_most_s};
use crate::msb::{Msb, text};
use crate::report::{Cache, Cell, Durability, Plot, Row, Table, Unit};

/// The longest time that a snapshot adds to a command, in seconds.
const SNAPSHOT_MAX_S: f64 = 0.015;
/// The longest time of an undo, in seconds.
const UNDO_MAX_S: f64 = 0.2;
/// The number of commands of each kind in a round.
const REPEATS: usize = 5;

/// The times of each kind of command, in seconds.
#[derive(Default)]
struct Times {
    plain: Vec<f64>,
    snapshot: Vec<f64>,
    undo: Vec<f64>,
}

/// Runs commands with and without a snapshot in turn, and undoes the last one.
pub(super) fn measure(arguments: &Arguments, msb: &Msb, shape: Shape) -> Result<Measured> {
    let work = tempfile::tempdir_in(&arguments.work)?;
    let work = work.path().canonicalize()?;
    shape.write(&work.join("tree"))?;
    let guest = Guest::start((arguments, msb), "commands", &work, &[])?;
    let mut times = Times::default();
    for round in 0..=arguments.rounds {
        let mut of_round = Times::default();
        for _ in 0..REPEATS {
            let nothing = [RUNNER_PATH, "nothing"];
            of_round.plain.push(time(&mut guest.exec(&[], &nothing))?);
            let mut snapshot = guest.exec(&["--snapshot"], &nothing);
            of_round.snapshot.push(time(&mut snapshot)?);
        }
        let change = format!("echo {round} >{STAGED_PATH}/change");
        text(&mut guest.exec(&["--snapshot"], &["sh", "-c", &change]))?;
        let mut undo = msb.command();
        undo.args(["undo", "--quiet", "--vmm", &arguments.vmm, guest.name()]);
        of_round.undo.push(time(&mut undo)?);
        // The first round warms the caches.
        if round > 0 {
            times.plain.extend(of_round.plain);
            times.snapshot.extend(of_round.snapshot);
            times.undo.extend(of_round.undo);
        }
    }
    Ok((vec![table(arguments, shape, &times)], judge(&times)))
}

/// Returns the time of a command that must succeed.
fn time(command: &mut Command) -> Result<f64> {
    let begun = Instant::now();
    text(command)?;
    Ok(begun.elapsed().as_secs_f64())
}

fn table(arguments: &Arguments, shape: Shape, times: &Times) -> Table {
    let row =
        |name: &str, times: &[f64]| Row::new(name, vec![Some(Cell::from_rounds(times.to_vec()))]);
    let repeats = format!("{REPEATS} commands of each kind in a round, in turn");
    Table {
        title: "Commands that can be undone".to_owned(),
        conditions: arguments.conditions(
            (Cache::Warm, Durability::Synced),
            shape,
            &[
                "a running sandbox; a program that ends at once",
                &repeats,
                "the undo takes back a file that a command wrote to the staged directory",
                "whole commands, the start of the program included",
            ],
        ),
        unit: Unit::Seconds,
        columns: vec!["each".to_owned()],
        baseline: None,
        rows: vec![
            row("exec", &times.plain),
            row("exec --snapshot", &times.snapshot),
            row("undo", &times.undo),
        ],
        plot: Plot::None,
    }
}

fn judge(times: &Times) -> Vec<crate::report::Target> {
    let added = times.snapshot.iter().zip(&times.plain);
    let added = added.map(|(snapshot, plain)| snapshot - plain).collect();
    let targets = [
        at_most_s("exec --snapshot, over exec", added, SNAPSHOT_MAX_S),
        at_most_s("undo of a running sandbox", times.undo.clone(), UNDO_MAX_S),
    ];
    targets.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_a_snapshot_adds_is_judged() {
        let times = Times {
            plain: vec![0.02, 0.03],
            snapshot: vec![0.03, 0.05],
            undo: vec![0.1],
        };
        let judged = judge(&times);
        let words: Vec<&str> = judged.iter().map(|target| target.words.as_str()).collect();
        assert_eq!(
            words,
            [
                "exec --snapshot, over exec: 20.0 ms (at most 15.0 ms)",
                "undo of a running sandbox: 100 ms (at most 200 ms)",
            ]
        );
        assert!(!judged[0].met && judged[1].met);
    }
}
