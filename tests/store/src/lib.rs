//! Tests of a store under many processes, kills, flipped bytes, failing disks and power cuts.
//!
//! Each test is registered by its name: `cargo test -p store NAME` runs those with NAME in theirs.
//! `cargo test -p store -- --list` prints all names.
//!
//! Each test repeats its work a few times. `MSB_TEST_COUNT` sets the number; the tests in
//! `stress::` have variables of their own.

mod changes;
mod content;
mod determinism;
mod faults;
mod flips;
mod full_disk;
mod kills;
mod load_kills;
mod powercut;
mod pulls;
mod random;
mod registry;
mod sandbox_flips;
mod stage;
mod system_calls;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Output};

use anyhow::{Context as _, Result, ensure};
use test_support::harness::{self, Trial};
use test_support::{Msb, TestEnv, settings};

/// A test's work: takes the number of repetitions, and returns a summary.
type Repeated = fn(&TestEnv, u32) -> Result<String>;

/// A test that repeats its work.
struct Test {
    name: &'static str,
    run: Repeated,
    /// The variable that sets the number of repetitions.
    variable: &'static str,
    times: u32,
}

const fn test(name: &'static str, run: Repeated, times: u32) -> Test {
    Test {
        name,
        run,
        variable: settings::COUNT,
        times,
    }
}

impl Test {
    /// Returns the test with another variable for the number of repetitions.
    const fn counted_by(mut self, variable: &'static str) -> Self {
        self.variable = variable;
        self
    }
}

const TESTS: &[Test] = &[
    test(
        "stress::processes_pull_overlapping_images",
        pulls::pull_overlapping,
        1,
    )
    .counted_by("MSB_TEST_ROUNDS"),
    test(
        "stress::many_pulls_of_one_image_are_one_download",
        pulls::pull_at_once,
        1,
    )
    .counted_by("MSB_TEST_CROWDS"),
    test("stress::killed_pulls_tear_nothing", kills::kill_pulls, 30).counted_by("MSB_TEST_KILLS"),
    test(
        "kills::a_load_survives_being_killed",
        load_kills::kill_loads,
        60,
    ),
    test(
        "flips::a_flipped_byte_is_found_refused_and_mended",
        flips::flip_bytes,
        25,
    ),
    test(
        "flips::a_flipped_byte_of_a_packed_layer_is_found_and_mended",
        flips::flip_packed,
        20,
    ),
    test(
        "flips::a_flipped_byte_of_a_sandboxs_record_loses_nothing",
        sandbox_flips::flip_records,
        10,
    ),
    test(
        "full_disks::every_stage_says_so_and_loses_nothing",
        full_disk::fill_disks,
        2,
    ),
    test(
        "full_disks::a_packed_layer_is_read_without_room_for_its_cache_file",
        full_disk::fill_caches,
        4,
    ),
    test(
        "faults::errors_of_the_disk_are_told_and_lose_nothing",
        faults::fail_calls,
        4,
    ),
    test(
        "kills::a_change_that_is_killed_is_old_or_new",
        changes::kill,
        2,
    ),
    test(
        "full_disks::a_change_without_room_is_old_or_new",
        changes::fill,
        1,
    ),
    test(
        "determinism::every_number_of_processors_gives_the_same_bytes",
        determinism::same_bytes_every_time,
        4,
    ),
];

/// Runs the tests that the arguments choose.
#[must_use]
pub fn main() -> ExitCode {
    harness::run(|_| tests())
}

fn tests() -> Vec<Trial> {
    let registered = |test: &'static Test| harness::test(test.name, || run(test));
    let mut tests: Vec<Trial> = TESTS.iter().map(registered).collect();
    let name = "power_cuts::a_store_survives_them";
    tests.push(harness::test(name, || {
        powercut::run(TestEnv::new("power-cuts")?)
    }));
    tests
}

fn run(test: &Test) -> Result<String> {
    let env = TestEnv::new(&directory(test.name))?;
    let times = settings::parsed(test.variable)?.unwrap_or(test.times);
    let found = (test.run)(&env, times)?;
    env.remove_work()?;
    Ok(found)
}

/// Returns a short name for a test's directory, because some of its paths have a limit.
fn directory(name: &str) -> String {
    let words = name.split("::").last().unwrap_or(name);
    words.chars().take(24).collect()
}

/// Returns the command `msb pull` for a name of a registry on the loopback interface.
fn pull(msb: &Msb, name: &str) -> Command {
    msb.command(&["pull", "-q", "--plain-http", name])
}

/// Returns the damage that `msb image verify` finds, as JSON.
fn verify(msb: &Msb) -> Result<Vec<serde_json::Value>> {
    let output = msb
        .command(&["image", "verify", "--format", "json", "-q"])
        .output()?;
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).with_context(|| told(&output))?;
    let damages = report["damages"].as_array().context("no damages")?.clone();
    let code = if damages.is_empty() { 0 } else { 1 };
    ensure!(output.status.code() == Some(code), "{}", told(&output));
    Ok(damages)
}

/// Checks that the store has no damage, and no unfinished files after it was opened.
fn expect_whole(msb: &Msb) -> Result<()> {
    let damages = verify(msb)?;
    ensure!(damages.is_empty(), "damaged: {damages:?}");
    let left = unfinished(msb)?;
    ensure!(left.is_empty(), "left over: {left:?}");
    Ok(())
}

/// Returns the directories of unfinished files.
fn unfinished(msb: &Msb) -> Result<Vec<PathBuf>> {
    let directory = msb.home.join("store/v2/tmp");
    if !directory.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(directory)?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// Returns a command's exit status and output as text.
fn told(output: &Output) -> String {
    format!(
        "{}: {}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
