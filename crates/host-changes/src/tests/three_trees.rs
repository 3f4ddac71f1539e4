//! Random edits of a directory on the host and in a sandbox, which end as a model of the three trees says.

mod sequences;

use std::collections::BTreeSet;
use std::path::Path;

use testkit::{ApplyEnd, HostFiles, SandboxChange, ThreeTrees};
use tree_diff::{Change, InMemory, Scope, Unrelated, compare};

use super::super::ApplyOptions;
use super::super::host_directory::HostDirectory;
use super::super::plan::Plan;
use super::{run, temporary};

/// The number of cases unless the variable names another one.
const CASES: u64 = 500;
const COUNT: &str = "MSB_TEST_COUNT";
/// The variable with the number of the first case, which is its seed.
const FIRST: &str = "MSB_TEST_FIRST";

/// The ends of cases.
#[derive(Debug, Default)]
struct Ends {
    conflicts: u64,
    /// Cases of which both sides had changed something.
    merged: u64,
}

/// Returns the changes as the model has them.
fn changed(changes: &[Change]) -> Vec<SandboxChange> {
    let changes = changes.iter();
    changes
        .map(|change| SandboxChange {
            path: String::from_utf8_lossy(&change.path[1..]).into_owned(),
            is_implied: change.is_implied,
            is_linked: change.hard_link.is_some(),
        })
        .collect()
}

/// Applies the changes to the host's directory. Returns the plan of the same changes afterwards, or the paths of the
/// conflicts.
fn apply(
    sides: (&InMemory, &InMemory),
    changes: &[Change],
    directory: &Path,
) -> Result<Plan, BTreeSet<String>> {
    let options = ApplyOptions::default();
    let host = HostDirectory::open(directory).expect("open");
    let plan = Plan::new(sides, changes, &host, &options).expect("planned");
    if !plan.conflicts.is_empty() {
        let conflicts = plan.conflicts.iter();
        let paths = conflicts.map(|one| String::from_utf8_lossy(&one.path).into_owned());
        return Err(paths.collect());
    }
    run(sides, &host, &options, &plan).expect("applied");
    Ok(Plan::new(sides, changes, &host, &options).expect("planned"))
}

fn check(seed: u64, ends: &mut Ends) {
    let trees = ThreeTrees::random(seed);
    let directory = temporary();
    trees.write_host(directory.path());
    let before = HostFiles::read(directory.path());
    let (old, new) = (InMemory(trees.old()), InMemory(trees.changed()));
    let changes = compare(&old, &new, &Unrelated, &Scope::everything()).expect("compared");
    let expected = trees.end(&changed(&changes));
    let applied = apply((&old, &new), &changes, directory.path());
    let after = HostFiles::read(directory.path());
    let context = format!("case {seed}: {trees:#?}\n{expected:#?}\n{after:#?}");
    match (expected, applied) {
        (ApplyEnd::Conflicts(expected), Err(found)) => {
            assert_eq!(found, expected, "{context}");
            assert!(before == after, "a conflict changed the host\n{context}");
            ends.conflicts += 1;
        }
        (ApplyEnd::Applied(expected), Ok(again)) => {
            let differences = expected.differences(&after);
            assert!(differences.is_empty(), "{differences:#?}\n{context}");
            let rewritten = before.rewritten(&after);
            assert!(rewritten.is_empty(), "{rewritten:?}\n{context}");
            assert!(again.steps.is_empty(), "{:?}\n{context}", again.steps);
            assert!(again.conflicts.is_empty(), "{context}");
            ends.merged += u64::from(trees.both_changed());
        }
        (expected, applied) => panic!(
            "{:?} instead of {expected:?}\n{context}",
            applied.map(|again| again.steps.len())
        ),
    }
}

/// Returns the number that a variable has.
fn number(variable: &str, otherwise: u64) -> u64 {
    let given = std::env::var(variable);
    given.map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
fn random_edits_on_both_sides_end_as_the_model_says() {
    let (first, count) = (number(FIRST, 0), number(COUNT, CASES));
    let mut ends = Ends::default();
    for seed in first..first + count {
        check(seed, &mut ends);
    }
    // Both ends are frequent enough to mean something.
    if count >= CASES {
        assert!(ends.conflicts > count / 20, "{ends:?} of {count}");
        assert!(ends.merged > count / 20, "{ends:?} of {count}");
    }
}
