//! Sequences of edits by both sides, with rollbacks, undos, forks and stagings anew of the sandboxes between the applies.
//! Some applies are killed, and finished from their records.

use testkit::{ApplyEnd, HostFiles, StagedSequence, ThreeTrees};
use tree_diff::{InMemory, Scope, Unrelated, compare};

use super::super::killed::with_prepared;
use super::super::temporary;
use super::{COUNT, FIRST, apply, changed, number};
use crate::ApplyRecords;

/// The number of sequences unless the variable names another one.
const SEQUENCES: u64 = 150;
/// The number of applies of a sequence.
const APPLIES: u64 = 5;

/// The ends of applies.
#[derive(Debug, Default)]
struct Ends {
    conflicts: u64,
    finished: u64,
    resumed: u64,
    /// The applies after at least one staging anew.
    restaged: u64,
}

/// Applies the changes of a sandbox; ends after some of the steps, and finishes them, if `killed_at` is given. Returns
/// the end that the model has.
fn check(
    trees: &ThreeTrees,
    killed_at: Option<usize>,
    records: &ApplyRecords,
    context: &str,
) -> ApplyEnd {
    let directory = temporary();
    trees.write_host(directory.path());
    let before = HostFiles::read(directory.path());
    let sides = (InMemory(trees.old()), InMemory(trees.changed()));
    let changes = compare(&sides.0, &sides.1, &Unrelated, &Scope::everything());
    let changes = changes.expect("compared");
    let expected = trees.end(&changed(&changes));
    let context = format!("{context}\n{trees:#?}\n{expected:#?}");
    match (&expected, killed_at) {
        (ApplyEnd::Applied(_), Some(count)) => {
            with_prepared(&sides, &changes, directory.path(), records, |prepared| {
                let count = count % (prepared.len() + 1);
                prepared.kill_after(count).expect("the first steps");
            });
            records.finish(directory.path()).expect("finished");
        }
        _ => {
            let applied = apply((&sides.0, &sides.1), &changes, directory.path());
            let is_applied = matches!(expected, ApplyEnd::Applied(_));
            assert_eq!(applied.is_ok(), is_applied, "{context}");
        }
    }
    let after = HostFiles::read(directory.path());
    match &expected {
        ApplyEnd::Applied(expected) => {
            let differences = expected.differences(&after);
            assert!(differences.is_empty(), "{differences:#?}\n{context}");
        }
        ApplyEnd::Conflicts(_) => assert!(before == after, "{context}"),
    }
    expected
}

#[test]
fn sequences_with_rollbacks_undos_forks_and_restages_end_as_the_model_says() {
    let (first, count) = (number(FIRST, 0), number(COUNT, SEQUENCES));
    let home = temporary();
    let records = ApplyRecords::of_home(home.path());
    let mut ends = Ends::default();
    for seed in first..first + count {
        let mut sequence = StagedSequence::random(seed);
        for turn in 0..APPLIES {
            let trees = sequence.next_apply();
            let at = seed.wrapping_mul(31).wrapping_add(turn * 7);
            let killed_at = usize::try_from(at).ok().filter(|at| at % 3 == 0);
            let mut made = sequence.made().iter();
            ends.restaged += u64::from(made.any(|step| step.starts_with("restage")));
            let context = format!("sequence {seed}: {:?}", sequence.made());
            let end = check(&trees, killed_at, &records, &context);
            match (&end, killed_at) {
                (ApplyEnd::Conflicts(_), _) => ends.conflicts += 1,
                (ApplyEnd::Applied(_), None) => ends.finished += 1,
                (ApplyEnd::Applied(_), Some(_)) => ends.resumed += 1,
            }
            sequence.applied(&end);
        }
    }
    assert!(records.waiting().expect("listed").is_empty());
    // All ends are frequent enough to mean something.
    if count >= SEQUENCES {
        let few = count * APPLIES / 20;
        let ends = [ends.conflicts, ends.finished, ends.resumed, ends.restaged];
        assert!(ends.iter().all(|end| *end > few), "{ends:?} of {count}");
    }
}
