//! Compares msb with other engines on hostile layers.
//!
//! `ci/engines` applies every case with the appliers of containerd, moby and umoci, in place and
//! with overlayfs. If they agree, msb has to agree with them. If all refuse, msb refuses, or the
//! case stands in [`exceptions`] with its reason. If they differ, msb has to agree with one of
//! them, or the case stands there too.

mod corpus;
mod exceptions;
mod judgement;
mod loader;
mod program;
mod sequences;
mod third_party;
mod tree;

use anyhow::{Result, ensure};
use test_fixtures::tools;
use test_support::harness::{self, Trial};
use test_support::settings;

pub(crate) use corpus::Case;
use judgement::{Judgement, Tally};
use loader::Loader;
pub(crate) use program::{Program, Scratch};
pub(crate) use tree::Tree;

/// Processor time that msb may take for one case, in seconds.
const CASE_S: f64 = 5.0;
/// Memory that msb may take for one case, in MiB.
const CASE_RSS_MIB: u64 = 150;
/// Number of random sequences of layers by default.
const SEQUENCES: u64 = 2000;

/// Chooses only the cases whose name contains this text.
const CASE: &str = "MSB_TEST_CASE";
/// Leaves out the archives of other projects.
const OWN: &str = "MSB_TEST_OWN";
/// The path of a directory that has a directory of archives for each further project.
const ARCHIVES: &str = "MSB_TEST_ARCHIVES";
/// Prints the result of every case.
const VERBOSE: &str = "MSB_TEST_VERBOSE";

/// Returns the tests against other engines.
pub(crate) fn tests() -> Vec<Trial> {
    let test = |name: &str, run: fn() -> Result<String>| {
        harness::test(format!("engines::{name}"), move || {
            tools::install()?;
            run()
        })
    };
    vec![
        test(
            "hostile_layers_agree_with_containerd_moby_and_umoci",
            hostile,
        ),
        test("random_layers_agree_with_containerd_and_umoci", random),
    ]
}

fn random() -> Result<String> {
    let first = settings::parsed(settings::FIRST)?.unwrap_or(0);
    sequences::run(first, settings::count(SEQUENCES)?)
}

/// Returns the cases that the environment chooses.
pub(crate) fn cases() -> Result<Vec<Case>> {
    let mut cases = corpus::hostile();
    cases.extend(
        crate::fidelity::cases()
            .into_iter()
            .map(|(name, layers)| Case::new(format!("fidelity/{name}"), layers)),
    );
    if !settings::is_set(OWN) {
        cases.extend(third_party::cases()?);
    }
    if let Some(directory) = settings::path(ARCHIVES) {
        cases.extend(third_party::gathered(&directory)?);
    }
    if let Ok(part) = std::env::var(CASE) {
        cases.retain(|case| case.name.contains(&part));
    }
    let cases: Vec<_> = cases.into_iter().step_by(settings::step()?).collect();
    ensure!(!cases.is_empty(), "no case has such a name");
    Ok(cases)
}

/// Judges every case, and fails on any that cannot be explained.
fn hostile() -> Result<String> {
    let cases = cases()?;
    let program = Program::build("hostile", &[])?;
    let verdicts = program.judge(&cases)?;
    let loader = Loader::new()?;
    let mut tally = Tally::default();
    for (case, verdicts) in cases.iter().zip(&verdicts) {
        let ours = match loader.verdict(case, &verdicts.diff_ids) {
            Ok(ours) => ours,
            Err(error) => {
                println!("Unseen {}: {error:.300}", case.name);
                tally.add_unseen();
                continue;
            }
        };
        ensure!(
            ours.seconds < CASE_S,
            "{} took {} s, the limit is {CASE_S} s",
            case.name,
            ours.seconds
        );
        ensure!(
            ours.rss_mib < CASE_RSS_MIB,
            "{} took {} MiB, the limit is {CASE_RSS_MIB} MiB",
            case.name,
            ours.rss_mib
        );
        let judgement = Judgement::new(&case.name, verdicts, &ours);
        if settings::is_set(VERBOSE) || judgement.is_failure() {
            println!("{judgement}");
        }
        tally.add(&judgement, &ours);
    }
    loader.remove()?;
    tally.verdict()
}
