//! Applies that end between two of their steps, and are finished from their records.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use testkit::{ApplyEnd, HostFiles, SandboxChange, ThreeTrees};
use tree_diff::{Change, InMemory, Scope, Unrelated, compare};

use super::super::host_directory::HostDirectory;
use super::super::plan::Plan;
use super::super::unfinished_name::is_unfinished;
use super::super::write::{Prepared, Written};
use super::super::{ApplyError, ApplyOptions, ApplyRecordError, ApplyRecords};
use super::{read_tree, temporary, tree, write_tree};

/// The number of random cases, each of which is ended before each of its steps.
const CASES: u64 = 240;

/// The files below a directory by path, without unfinished ones: `None` for a directory.
type Forms = BTreeMap<String, Option<String>>;

fn forms(directory: &Path) -> Forms {
    let mut found = Forms::new();
    let mut due = vec![directory.to_owned()];
    while let Some(path) = due.pop() {
        for entry in fs::read_dir(path).expect("listed") {
            let path = entry.expect("an entry").path();
            if is_unfinished(path.file_name().expect("a name").as_bytes()) {
                continue;
            }
            let name = path.strip_prefix(directory).expect("below");
            let name = name.to_str().expect("UTF-8").to_owned();
            let metadata = fs::symlink_metadata(&path).expect("there");
            let form = if metadata.is_dir() {
                due.push(path);
                None
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).expect("a link");
                Some(format!("link {}", target.display()))
            } else {
                Some(fs::read_to_string(&path).expect("read"))
            };
            found.insert(name, form);
        }
    }
    found
}

/// Returns the paths of unfinished files below a directory.
pub(super) fn unfinished(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut due = vec![directory.to_owned()];
    while let Some(path) = due.pop() {
        for entry in fs::read_dir(path).expect("listed") {
            let path = entry.expect("an entry").path();
            if fs::symlink_metadata(&path).expect("there").is_dir() {
                due.push(path);
            } else if is_unfinished(path.file_name().expect("a name").as_bytes()) {
                found.push(path);
            }
        }
    }
    found
}

/// A case: three trees, and the changes of the sandbox.
struct Case {
    trees: ThreeTrees,
    sides: (InMemory, InMemory),
    changes: Vec<Change>,
}

impl Case {
    fn new(seed: u64) -> Self {
        let trees = ThreeTrees::random(seed);
        let sides = (InMemory(trees.old()), InMemory(trees.changed()));
        let changes = compare(&sides.0, &sides.1, &Unrelated, &Scope::everything());
        Self {
            trees,
            changes: changes.expect("compared"),
            sides,
        }
    }

    fn end(&self) -> ApplyEnd {
        let changes = self.changes.iter().map(|change| SandboxChange {
            path: String::from_utf8_lossy(&change.path[1..]).into_owned(),
            is_implied: change.is_implied,
            is_linked: change.hard_link.is_some(),
        });
        self.trees.end(&changes.collect::<Vec<_>>())
    }

    /// Applies the changes to a directory, and ends after a number of steps. Returns the number of all steps.
    fn kill_after(&self, count: usize, directory: &Path, records: &ApplyRecords) -> usize {
        with_prepared(&self.sides, &self.changes, directory, records, |prepared| {
            let steps = prepared.len();
            prepared.kill_after(count).expect("the first steps");
            steps
        })
    }
}

/// Calls a function with the recorded steps of an apply.
pub(super) fn with_prepared<T>(
    (old, new): &(InMemory, InMemory),
    changes: &[Change],
    directory: &Path,
    records: &ApplyRecords,
    work: impl FnOnce(Prepared<'_>) -> T,
) -> T {
    let options = ApplyOptions {
        records: Some(records.clone()),
        ..ApplyOptions::default()
    };
    let host = HostDirectory::open(directory).expect("open");
    let plan = Plan::new((old, new), changes, &host, &options).expect("planned");
    assert!(plan.conflicts.is_empty(), "{:?}", plan.conflicts);
    let written = Written::new((old, new), &host, &options, &plan).expect("written");
    let mut prepared = written.prepare().expect("prepared");
    prepared.record().expect("recorded");
    work(prepared)
}

/// Asserts that each file is old or new.
fn assert_old_or_new(found: &Forms, old: &Forms, new: &Forms, context: &str) {
    let paths: BTreeSet<&String> = found.keys().chain(old.keys()).chain(new.keys()).collect();
    for path in paths {
        let (found, old, new) = (found.get(path), old.get(path), new.get(path));
        let is_directory = |form: Option<&Option<String>>| form.is_some_and(Option::is_none);
        // A file makes room for a directory before that is made.
        let makes_room = found.is_none() && is_directory(old) != is_directory(new);
        assert!(
            found == old || found == new || makes_room,
            "{path}: {found:?} is neither {old:?} nor {new:?}\n{context}"
        );
    }
}

#[test]
fn an_apply_that_is_killed_before_any_step_is_finished_by_its_record() {
    let mut steps_seen = 0;
    for seed in 0..CASES {
        let case = Case::new(seed);
        let ApplyEnd::Applied(end) = case.end() else {
            continue;
        };
        let undisturbed = temporary();
        case.trees.write_host(undisturbed.path());
        let old = forms(undisturbed.path());
        let home = temporary();
        let records = ApplyRecords::of_home(home.path());
        let steps = case.kill_after(usize::MAX, undisturbed.path(), &records);
        records.finish(undisturbed.path()).expect("finished");
        let new = forms(undisturbed.path());
        for count in 0..=steps {
            let host = temporary();
            case.trees.write_host(host.path());
            case.kill_after(count, host.path(), &records);
            let context = format!("case {seed} after {count} of {steps}: {:#?}", case.trees);
            assert_old_or_new(&forms(host.path()), &old, &new, &context);
            let waiting = records.waiting().expect("listed");
            assert_eq!(waiting.len(), usize::from(steps > 0), "{context}");
            records.finish(host.path()).expect("finished");
            let after = HostFiles::read(host.path());
            let differences = end.differences(&after);
            assert!(differences.is_empty(), "{differences:#?}\n{context}");
            assert!(records.waiting().expect("listed").is_empty(), "{context}");
            assert!(unfinished(host.path()).is_empty(), "{context}");
            // Nothing is left to be done.
            records.finish(host.path()).expect("finished");
            assert!(after == HostFiles::read(host.path()), "{context}");
        }
        steps_seen += steps;
    }
    assert!(steps_seen > 100, "{steps_seen} steps are too few");
}

/// The changes of two files, a new one and a removal.
pub(super) fn small() -> ((InMemory, InMemory), Vec<Change>) {
    let old = InMemory(tree(&[("a", "1"), ("b", "1"), ("gone", "1")]));
    let new = InMemory(tree(&[("a", "2"), ("b", "2"), ("d/new", "2")]));
    let changes = compare(&old, &new, &Unrelated, &Scope::everything()).expect("compared");
    ((old, new), changes)
}

pub(super) fn small_host() -> tempfile::TempDir {
    let host = temporary();
    write_tree(&[("a", "1"), ("b", "1"), ("gone", "1")], host.path());
    host
}

pub(super) fn texts(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let files = files.iter();
    files
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn an_edit_between_the_plan_and_the_rename_is_left_and_the_rest_is_done() {
    let (host, home) = (small_host(), temporary());
    let records = ApplyRecords::of_home(home.path());
    let (sides, changes) = small();
    let left = with_prepared(&sides, &changes, host.path(), &records, |prepared| {
        fs::write(host.path().join("a"), "edited").expect("written");
        fs::write(host.path().join("gone"), "edited").expect("written");
        prepared.finish().expect("finished")
    });
    let paths: Vec<_> = left.iter().map(|left| left.path.clone()).collect();
    assert_eq!(paths, ["a", "gone"].map(|name| host.path().join(name)));
    assert!(left.iter().all(|left| left.kept.is_none()));
    let expected = [
        ("a", "edited"),
        ("b", "2"),
        ("d/", ""),
        ("d/new", "2"),
        ("gone", "edited"),
    ];
    assert_eq!(read_tree(host.path()), texts(&expected));
    assert!(records.waiting().expect("listed").is_empty());
}

#[test]
fn an_edit_after_the_process_was_killed_is_left() {
    let (host, home) = (small_host(), temporary());
    let records = ApplyRecords::of_home(home.path());
    let (sides, changes) = small();
    with_prepared(&sides, &changes, host.path(), &records, |prepared| {
        prepared.kill_after(1).expect("one step");
    });
    // The one that was replaced already, and one that was not.
    fs::write(host.path().join("a"), "mine").expect("written");
    fs::write(host.path().join("b"), "mine").expect("written");
    records.finish(host.path()).expect("finished");
    let expected = [("a", "mine"), ("b", "mine"), ("d/", ""), ("d/new", "2")];
    assert_eq!(read_tree(host.path()), texts(&expected));
}

#[test]
fn nothing_is_removed_if_new_files_are_missing() {
    let (host, home) = (small_host(), temporary());
    let records = ApplyRecords::of_home(home.path());
    let (sides, changes) = small();
    with_prepared(&sides, &changes, host.path(), &records, |prepared| {
        prepared.kill_after(0).expect("nothing");
    });
    for path in unfinished(host.path()) {
        fs::remove_file(path).expect("removed");
    }
    records.finish(host.path()).expect("finished");
    let expected = [("a", "1"), ("b", "1"), ("d/", ""), ("gone", "1")];
    assert_eq!(read_tree(host.path()), texts(&expected));
}

#[test]
fn a_record_that_cannot_be_used_is_kept_and_named() {
    let (host, home) = (small_host(), temporary());
    let records = ApplyRecords::of_home(home.path());
    let (sides, changes) = small();
    with_prepared(&sides, &changes, host.path(), &records, |prepared| {
        prepared.kill_after(0).expect("nothing");
    });
    let waiting = records.waiting().expect("listed");
    assert!(waiting[0].problem.is_none(), "{waiting:?}");
    let path = waiting[0].record.clone();
    // Another apply is not named.
    let held = HostDirectory::open(host.path()).expect("open");
    assert!(records.waiting().expect("listed").is_empty());
    let busy = records.finish(host.path()).expect_err("it is locked");
    assert!(matches!(busy, ApplyError::Busy { .. }), "{busy}");
    drop(held);
    let whole = fs::read(&path).expect("read");
    let mut damaged = whole.clone();
    damaged[10] ^= 1;
    fs::write(&path, damaged).expect("written");
    let failed = records.finish(host.path()).expect_err("it is damaged");
    let is_damaged = matches!(
        failed,
        ApplyError::Unfinished {
            source: ApplyRecordError::Damaged(_),
            ..
        }
    );
    assert!(is_damaged, "{failed:?}");
    assert!(path.exists());
    fs::write(&path, whole).expect("written");
    fs::rename(host.path(), host.path().with_extension("moved")).expect("renamed");
    let waiting = records.waiting().expect("listed");
    let problem = waiting[0].problem.as_ref();
    assert!(
        matches!(problem, Some(ApplyRecordError::Missing)),
        "{problem:?}"
    );
    fs::create_dir(host.path()).expect("made");
    let waiting = records.waiting().expect("listed");
    let problem = waiting[0].problem.as_ref();
    assert!(
        matches!(problem, Some(ApplyRecordError::OtherDirectory)),
        "{problem:?}"
    );
    // The directory itself is finished under its other name.
    let moved = host.path().with_extension("moved");
    records.finish(&moved).expect("finished");
    let expected = [("a", "2"), ("b", "2"), ("d/", ""), ("d/new", "2")];
    assert_eq!(read_tree(&moved), texts(&expected));
    fs::remove_dir_all(moved).expect("removed");
}
