//! EROFS images through every available reader.
//!
//! They are the corpus of `crates/erofs-writer/tests`, with readers that have to be fetched or
//! built first, and with a chosen number of trees.

mod readers;
mod sizes;

use anyhow::{Context as _, Result, ensure};

use test_fixtures::build::cargo;
use test_fixtures::command::{quiet, step};
use test_fixtures::tools;
use test_support::harness::{self, Trial};
use test_support::settings;

/// Number of random trees by default.
const TREES: u64 = 60;
/// Uses only installed readers: no newer erofs-utils, no go-erofs.
const INSTALLED: &str = "MSB_TEST_INSTALLED";

/// Returns the tests of every reader.
pub(crate) fn tests() -> Vec<Trial> {
    vec![
        harness::test("erofs::every_reader_sees_random_trees", corpus),
        harness::long_test("erofs::sizes_at_their_limits", sizes::run),
    ]
}

/// Writes the trees and compares the readers' results. Returns the test's summary.
fn corpus() -> Result<String> {
    tools::install()?;
    let first: u64 = settings::parsed(settings::FIRST)?.unwrap_or(0);
    let mut command = cargo();
    command
        .args(["test", "--locked", "-p", "erofs-writer", "--test", "erofs"])
        .args(["corpus::oracle_corpus_agrees", "--", "--exact"])
        .env("MSB_EROFS_TREES", settings::count(TREES)?.to_string())
        .env("MSB_EROFS_FIRST", first.to_string());
    if !settings::is_set(INSTALLED) {
        let roots = readers::newer_utils()?;
        command.env("MSB_EROFS_UTILS", std::env::join_paths(roots)?);
        if let Some(program) = readers::go_erofs()? {
            command.env("MSB_GO_EROFS", program);
        }
    }
    step("random trees through every reader");
    let said = String::from_utf8(quiet(&mut command)?.stdout)?;
    account(&said, "readers: ")
}

/// Returns the lines between the harness's own, up to the one that begins with `last`.
fn account(said: &str, last: &str) -> Result<String> {
    let lines: Vec<&str> = said
        .lines()
        .skip_while(|line| !line.starts_with("running"))
        .skip(1)
        .filter(|line| !line.starts_with("test ") && !line.starts_with("so far: "))
        .filter(|line| !line.is_empty())
        .collect();
    let end = lines.iter().position(|line| line.starts_with(last));
    let end = end.with_context(|| format!("the test gave no account: {said}"))?;
    ensure!(said.contains("1 passed"), "not one test ran: {said}");
    Ok(lines[..=end].join("\n"))
}
