//! Work in a guest: `git status`, and a cycle of editing, building and testing, on the staged directory, on a
//! shared one, and on copies.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use msb_bench_runner::CycleTimes;

use super::tree::make_repository;
use super::{Arguments, Measured, Shape};
use crate::fs::RUNNER;
use crate::msb::{Msb, text};
use crate::report::{Cache, Cell, Durability, Plot, Row, Table, Target, Unit};
use crate::sandbox::Sandbox;

/// The path of the runner in a guest.
pub(super) const RUNNER_PATH: &str = "/msb-bench-runner";
/// The places of a guest, each with its column.
const PLACES: [(&str, &str); 4] = [
    ("/shared", "shared, live"),
    ("/ext4", "ext4, a volume"),
    ("/copy", "copied, on the writable disk"),
    (STAGED_PATH, "staged"),
];
pub(super) const STAGED_PATH: &str = "/staged";
const SHARED: usize = 0;
const EXT4: usize = 1;
const STAGED: usize = 3;
/// The largest ratios of the staged directory's time to ext4's.
const WARM_MAX: f64 = 1.2;
const COLD_MAX: f64 = 2.0;
/// The least ratio of the shared directory's time to the staged one's.
const SHARED_MIN: f64 = 5.0;
/// The number of warm runs of a round, and the pause before each.
const WARM_REPEATS: usize = 3;
const PAUSE: Duration = Duration::from_millis(1_200);
const STATUS: [&str; 3] = ["git", "status", "--short"];

/// A sandbox that runs until this value is dropped.
pub(super) struct Guest {
    sandbox: Sandbox,
}

/// The times of `git status` in each place.
#[derive(Default)]
struct StatusTimes {
    first: [Vec<f64>; PLACES.len()],
    cold: [Vec<f64>; PLACES.len()],
    warm: [Vec<f64>; PLACES.len()],
}

/// Measures in each place in turn.
pub(super) fn measure(arguments: &Arguments, msb: &Msb, shape: Shape) -> Result<Measured> {
    let work = tempfile::tempdir_in(&arguments.work)?;
    let work = work.path().canonicalize()?;
    let (tree, shared) = (work.join("tree"), work.join("shared"));
    shape.write(&tree)?;
    make_repository(&tree)?;
    text(Command::new("cp").arg("-a").arg(&tree).arg(&shared))?;
    let (at_shared, copied) = (
        format!("{}:/shared", shared.display()),
        format!("{}:/copy", tree.display()),
    );
    let guest = Guest::start(
        (arguments, msb),
        "staged",
        &work,
        &[
            "--volume", &at_shared, "--volume", "/ext4", "--copy", &copied,
        ],
    )?;
    let copy = ["cp", "-a", "/copy/.", "/ext4/"];
    text(guest.sandbox.exec(&["--user", "0"]).args(copy))?;
    let mut status = StatusTimes::default();
    for (place, times) in PLACES.iter().zip(&mut status.first) {
        times.push(guest.status("cold", place.0)?);
    }
    let name = &guest.sandbox.name;
    let changed = msb.output(["diff", "--name-only", name, "--", STAGED_PATH])?;
    for round in 0..=arguments.rounds {
        let of_round = guest.status_round()?;
        // The first round warms the host's caches.
        if round > 0 {
            status.extend(of_round);
        }
    }
    let mut cycles: [Vec<CycleTimes>; PLACES.len()] = Default::default();
    for round in 0..=arguments.rounds {
        for ((place, _), cycles) in PLACES.iter().zip(&mut cycles) {
            let times = guest.cycle(place, round)?;
            // The first round builds everything.
            if round > 0 {
                cycles.push(times);
            }
        }
    }
    let targets = judge(&status, changed.trim_end());
    let tables = vec![
        status_table(arguments, shape, status),
        cycle_table(arguments, shape, &cycles),
    ];
    Ok((tables, targets))
}

impl StatusTimes {
    fn extend(&mut self, of_round: Self) {
        for (times, more) in self.cold.iter_mut().zip(of_round.cold) {
            times.extend(more);
        }
        for (times, more) in self.warm.iter_mut().zip(of_round.warm) {
            times.extend(more);
        }
    }
}

impl Guest {
    /// Starts a sandbox that has the directory `tree` below `work` staged, and the runner. It has no network,
    /// which could be one device too many.
    pub(super) fn start(
        (arguments, msb): (&Arguments, &Msb),
        purpose: &str,
        work: &Path,
        options: &[&str],
    ) -> Result<Self> {
        let sandbox = Sandbox::named(msb, purpose);
        let runner = write_runner(work)?;
        let mut create = msb.command();
        create.args(["create", "--quiet", "--no-command", "--network", "none"]);
        create.args(["--memory", "1G", "--name", &sandbox.name]);
        let staged = format!("{}:{STAGED_PATH}:staged", work.join("tree").display());
        create.args(["--volume", &staged]);
        create.arg("--copy");
        create.arg(format!("{}:{RUNNER_PATH}", runner.display()));
        text(create.args(options).arg(&arguments.image))?;
        let mut start = msb.command();
        start.args(["start", "--quiet", "--vmm", &arguments.vmm, &sandbox.name]);
        text(&mut start)?;
        Ok(Self { sandbox })
    }

    pub(super) fn name(&self) -> &str {
        &self.sandbox.name
    }

    /// Returns `msb exec` of a command, as root.
    pub(super) fn exec(&self, options: &[&str], words: &[&str]) -> Command {
        let mut exec = self.sandbox.exec(&[&["--user", "0"], options].concat());
        exec.args(words);
        exec
    }

    /// Returns the time of `git status` in a directory, which must have no changes.
    fn status(&self, caches: &str, place: &str) -> Result<f64> {
        let words = [&[RUNNER_PATH, "time", caches, place], &STATUS[..]].concat();
        let printed = text(&mut self.exec(&[], &words))
            .context("cannot measure git status; the image needs git")?;
        let (seconds, output): (f64, String) = serde_json::from_str(&printed)?;
        ensure!(
            output.is_empty(),
            "git status finds changes in {place}, which has none"
        );
        Ok(seconds)
    }

    /// Runs `git status` once with cold caches in each place, and then some times with warm ones, in turn.
    fn status_round(&self) -> Result<StatusTimes> {
        let mut times = StatusTimes::default();
        for ((place, _), cold) in PLACES.iter().zip(&mut times.cold) {
            cold.push(self.status("cold", place)?);
        }
        for _ in 0..WARM_REPEATS {
            // The guest believes what it knows of a shared file for a second. A user is rarely that fast.
            sleep(PAUSE);
            for ((place, _), warm) in PLACES.iter().zip(&mut times.warm) {
                warm.push(self.status("warm", place)?);
            }
        }
        Ok(times)
    }

    fn cycle(&self, place: &str, round: usize) -> Result<CycleTimes> {
        let words = [RUNNER_PATH, "cycle", place, &round.to_string()];
        Ok(serde_json::from_str(&text(&mut self.exec(&[], &words))?)?)
    }
}

/// Writes the runner below a directory. Returns its path.
fn write_runner(work: &Path) -> Result<PathBuf> {
    let program = work.join("runner");
    fs::write(&program, RUNNER)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(program)
}

fn row(name: &str, times: [Vec<f64>; PLACES.len()]) -> Row {
    let cells = times.map(|times| Some(Cell::from_rounds(times)));
    Row::new(name, cells.into())
}

fn table(title: &str, rows: Vec<Row>, conditions: crate::report::Conditions) -> Table {
    Table {
        title: title.to_owned(),
        conditions,
        unit: Unit::Seconds,
        columns: PLACES.map(|(_, column)| column.to_owned()).into(),
        baseline: Some(EXT4),
        rows,
        plot: Plot::Ratios,
    }
}

fn status_table(arguments: &Arguments, shape: Shape, times: StatusTimes) -> Table {
    let conditions = arguments.conditions(
        (Cache::Any, Durability::None),
        shape,
        &[
            "a repository with one commit, one pack and no change; its index was made on the host",
            "the first is the first git status of the guest, once; cold: the guest's caches are dropped before it; \
             warm: three times in a round, each more than a second after the last use of the files",
            "times of git alone, by the guest's clock",
        ],
    );
    let rows = vec![
        row("the first", times.first),
        row("cold", times.cold),
        row("warm", times.warm),
    ];
    table("git status in a guest", rows, conditions)
}

fn cycle_table(
    arguments: &Arguments,
    shape: Shape,
    cycles: &[Vec<CycleTimes>; PLACES.len()],
) -> Table {
    let figures = |figure: fn(&CycleTimes) -> f64| {
        let of_place = |cycles: &Vec<CycleTimes>| cycles.iter().map(figure).collect();
        cycles.each_ref().map(of_place)
    };
    let conditions = arguments.conditions(
        (Cache::Warm, Durability::None),
        shape,
        &[
            "edit: a line is appended to 20 files; build: the attributes of all files and objects are read, and \
             each object that is older than its file is written anew; test: all objects are read",
            "a program without children does it, by the guest's clock; the first round, which builds everything, \
             is not counted",
        ],
    );
    let rows = vec![
        row("edit", figures(|times| times.edit_s)),
        row("build", figures(|times| times.build_s)),
        row("test", figures(|times| times.test_s)),
        row(
            "all three",
            figures(|times| times.edit_s + times.build_s + times.test_s),
        ),
    ];
    table("Edit, build, test in a guest", rows, conditions)
}

/// Judges `git status`. `changed` lists the files of the staged directory that differ after the first one.
fn judge(times: &StatusTimes, changed: &str) -> Vec<Target> {
    let ratio = |times: &[Vec<f64>; PLACES.len()], one: usize, other: usize| {
        let cell = |column: usize| Cell::from_rounds(times[column].clone());
        Some(cell(one).ratio_to(&cell(other))?.median)
    };
    let of_ext4 = |words: &str, times, limit: f64| {
        let ratio = ratio(times, STAGED, EXT4)?;
        let words = format!("git status, {words}: {ratio:.2} of ext4's time (at most {limit})");
        Some(Target::new(ratio <= limit, words))
    };
    let mut targets = Vec::new();
    targets.extend(of_ext4("warm", &times.warm, WARM_MAX));
    targets.extend(of_ext4("cold", &times.cold, COLD_MAX));
    let shared = ratio(&times.warm, SHARED, STAGED).map(|ratio| {
        let words = format!(
            "git status, warm: {ratio:.1} times the speed of a shared directory (at least {SHARED_MIN})"
        );
        Target::new(ratio >= SHARED_MIN, words)
    });
    targets.extend(shared);
    // git writes the index if it had to read a file to see that it is unchanged.
    let words = if changed.is_empty() {
        "the first git status reads no file again: it leaves the index as it is".to_owned()
    } else {
        format!("the first git status reads files again and writes {changed}")
    };
    targets.push(Target::new(changed.is_empty(), words));
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_staged_directory_is_judged_against_ext4_and_a_shared_one() {
        let times = StatusTimes {
            first: Default::default(),
            cold: [8.0, 1.0, 1.0, 2.5].map(|time| vec![time]),
            warm: [2.0, 0.3, 0.3, 0.33].map(|time| vec![time]),
        };
        let met = |changed: &str| -> Vec<bool> {
            let judged = judge(&times, changed);
            judged.iter().map(|target| target.met).collect()
        };
        assert_eq!(met(""), [true, false, true, true]);
        assert_eq!(met("/staged/.git/index"), [true, false, true, false]);
        let words = &judge(&times, "")[0].words;
        assert_eq!(words, "git status, warm: 1.10 of ext4's time (at most 1.2)");
    }
}
