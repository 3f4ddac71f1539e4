//! Random edits of a directory on the host and in a sandbox, which end as a model of the three trees says.

mod forms;
mod model;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tree_diff::{Change, InMemory, Scope, Unrelated, compare};

use super::super::ApplyOptions;
use super::super::host_directory::HostDirectory;
use super::super::plan::Plan;
use super::{run, temporary};
use forms::{Forms, Host, build, forms_of, read, write};
use model::{Changed, Outcome, outcome};

/// The number of cases unless the variable names another one.
const CASES: u64 = 500;
const COUNT: &str = "MSB_TEST_COUNT";
/// The variable with the number of the first case, which is its seed.
const FIRST: &str = "MSB_TEST_FIRST";
const NAMES: [&str; 3] = ["a", "b", "c"];
const TEXTS: [&str; 4] = ["", "0\n", "1\n", "2\n"];
const FILE_MODES: [u16; 3] = [0o644, 0o755, 0o600];
const DIRECTORY_MODES: [u16; 3] = [0o755, 0o700, 0o1777];
const TARGETS: [&str; 3] = ["a", "../b", "/nowhere"];

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Directory {
        mode: u16,
    },
    /// Names with one number are names of one file.
    File {
        number: u32,
        text: &'static str,
        mode: u16,
    },
    Link {
        target: &'static str,
    },
}

/// A tree by path.
type Files = BTreeMap<String, Entry>;

/// A random editor of trees.
struct Editor {
    random: fastrand::Rng,
    /// The number of the last file.
    number: u32,
}

impl Editor {
    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.usize(0..all.len())]
    }

    fn path(&mut self) -> String {
        let depth = self.random.usize(1..4);
        let names: Vec<&str> = (0..depth).map(|_| self.of(&NAMES)).collect();
        names.join("/")
    }

    /// Returns a path that the tree has, if it has any.
    fn existing(&mut self, files: &Files) -> Option<String> {
        let paths: Vec<&String> = files.keys().collect();
        let index = self.random.usize(0..paths.len().max(1));
        paths.get(index).map(|path| (*path).clone())
    }

    fn file(&mut self) -> Entry {
        self.number += 1;
        Entry::File {
            number: self.number,
            text: self.of(&TEXTS),
            mode: self.of(&FILE_MODES),
        }
    }

    /// Edits a tree so many times.
    fn edited(&mut self, files: &Files, times: usize) -> Files {
        let mut files = files.clone();
        for _ in 0..times {
            self.edit(&mut files);
        }
        files
    }

    fn edit(&mut self, files: &mut Files) {
        let path = self.path();
        match self.random.usize(0..10) {
            0 | 1 => {
                let file = self.file();
                put(files, &path, file);
            }
            2 => {
                let target = self.of(&TARGETS);
                put(files, &path, Entry::Link { target });
            }
            3 => {
                let mode = self.of(&DIRECTORY_MODES);
                put(files, &path, Entry::Directory { mode });
            }
            4 => remove(files, &path),
            5 | 6 => self.write_to(files),
            7 => self.change_mode(files),
            8 => {
                // Another name of a file.
                let existing = self.existing(files);
                let file = existing.and_then(|existing| files.get(&existing).cloned());
                if let Some(file @ Entry::File { .. }) = file {
                    put(files, &path, file);
                }
            }
            _ => {
                if let Some(from) = self.existing(files) {
                    rename(files, &from, &path);
                }
            }
        }
    }

    /// Writes to a file, which changes it under all its names.
    fn write_to(&mut self, files: &mut Files) {
        let (existing, written) = (self.existing(files), self.of(&TEXTS));
        let Some(&Entry::File { number: of, .. }) = existing.and_then(|path| files.get(&path))
        else {
            return;
        };
        for entry in files.values_mut() {
            match entry {
                Entry::File { number, text, .. } if *number == of => *text = written,
                _ => {}
            }
        }
    }

    fn change_mode(&mut self, files: &mut Files) {
        let Some(path) = self.existing(files) else {
            return;
        };
        let (of_file, of_directory) = (self.of(&FILE_MODES), self.of(&DIRECTORY_MODES));
        let of = match files.get_mut(&path) {
            Some(Entry::Directory { mode }) => {
                *mode = of_directory;
                return;
            }
            Some(Entry::File { number, .. }) => *number,
            _ => return,
        };
        for entry in files.values_mut() {
            match entry {
                Entry::File { number, mode, .. } if *number == of => *mode = of_file,
                _ => {}
            }
        }
    }
}

fn is_below(path: &str, above: &str) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the paths of the directories above a path, the highest first.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(move |(end, _)| &path[..end])
}

/// Removes a file, or a directory with everything in it.
fn remove(files: &mut Files, path: &str) {
    files.retain(|other, _| other != path && !is_below(other, path));
}

/// Puts a file at a path. Directories above it are made, also in the place of files.
fn put(files: &mut Files, path: &str, entry: Entry) {
    remove(files, path);
    for above in above(path) {
        if !matches!(files.get(above), Some(Entry::Directory { .. })) {
            let mode = DIRECTORY_MODES[0];
            files.insert(above.to_owned(), Entry::Directory { mode });
        }
    }
    files.insert(path.to_owned(), entry);
}

/// Moves a file, or a directory with everything in it.
fn rename(files: &mut Files, from: &str, to: &str) {
    if from == to || is_below(from, to) || is_below(to, from) {
        return;
    }
    let is_moved = |path: &str| path == from || is_below(path, from);
    let moved: Vec<(String, Entry)> = files
        .iter()
        .filter(|(path, _)| is_moved(path))
        .map(|(path, entry)| (format!("{to}{}", &path[from.len()..]), entry.clone()))
        .collect();
    remove(files, from);
    for (path, entry) in moved {
        put(files, &path, entry);
    }
}

/// The three trees of a case.
#[derive(Debug)]
struct Case {
    old: Files,
    new: Files,
    host: Files,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut editor = Editor {
            random: fastrand::Rng::with_seed(seed),
            number: 0,
        };
        let old = editor.edited(&Files::new(), 8);
        let times = editor.random.usize(1..6);
        let new = editor.edited(&old, times);
        // The host may have a part of the sandbox's changes, or all of them.
        let times = editor.random.usize(0..4);
        let host = match editor.random.usize(0..4) {
            0 => editor.edited(&new, times),
            1 => {
                let mut host = editor.edited(&old, times);
                if let Some(path) = editor.existing(&new)
                    && let Some(entry) = new.get(&path)
                {
                    // It is another file, whatever the host has of this number.
                    let mut entry = entry.clone();
                    if let Entry::File { number, .. } = &mut entry {
                        editor.number += 1;
                        *number = editor.number;
                    }
                    put(&mut host, &path, entry);
                }
                host
            }
            _ => editor.edited(&old, times),
        };
        Self { old, new, host }
    }
}

/// Returns the changes with their paths as the model has them.
fn changed(changes: &[Change]) -> Vec<Changed> {
    let changes = changes.iter();
    changes
        .map(|change| Changed {
            path: String::from_utf8_lossy(&change.path[1..]).into_owned(),
            is_implied: change.is_implied,
            is_linked: change.hard_link.is_some(),
        })
        .collect()
}

/// Returns the paths of the conflicts of a plan.
fn conflicts(plan: &Plan) -> BTreeSet<String> {
    let conflicts = plan.conflicts.iter();
    let path = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    conflicts.map(|conflict| path(&conflict.path)).collect()
}

/// Applies the changes to the host's directory. Returns the plan of the same changes afterwards, or the conflicts.
fn apply(
    sides: (&InMemory, &InMemory),
    changes: &[Change],
    directory: &Path,
) -> Result<Plan, BTreeSet<String>> {
    let options = ApplyOptions::default();
    let host = HostDirectory::open(directory).expect("open");
    let plan = Plan::new(sides, changes, &host, &options).expect("planned");
    if !plan.conflicts.is_empty() {
        return Err(conflicts(&plan));
    }
    run(sides, &host, &options, &plan).expect("applied");
    Ok(Plan::new(sides, changes, &host, &options).expect("planned"))
}

/// Checks that files which the changes did not concern are the host's own ones still.
fn assert_kept(before: &Host, after: &Host, context: &str) {
    for (path, (form, inode)) in before {
        let Some((found, kept)) = after.get(path) else {
            continue;
        };
        if form == found {
            assert_eq!(inode, kept, "{path} was written again\n{context}");
        }
    }
}

/// The ends of cases.
#[derive(Debug, Default)]
struct Ends {
    conflicts: u64,
    /// Cases of which both sides had changed something.
    merged: u64,
}

fn check(seed: u64, ends: &mut Ends) {
    let case = Case::new(seed);
    let Case { old, new, host } = &case;
    let directory = temporary();
    write(host, directory.path());
    let before = read(directory.path());
    let (old_side, new_side) = (InMemory(build(old)), InMemory(build(new)));
    let changes = compare(&old_side, &new_side, &Unrelated, &Scope::everything());
    let changes = changes.expect("compared");
    let expected = outcome((old, new, host), &changed(&changes));
    let applied = apply((&old_side, &new_side), &changes, directory.path());
    let after = read(directory.path());
    let context = format!("case {seed}: {case:#?}\n{expected:#?}\n{after:#?}");
    match (expected, applied) {
        (Outcome::Conflicts(expected), Err(found)) => {
            assert_eq!(found, expected, "{context}");
            assert!(before == after, "a conflict changed the host\n{context}");
            ends.conflicts += 1;
        }
        (Outcome::Applied(expected), Ok(again)) => {
            let found: Forms = after
                .iter()
                .map(|(path, (form, _))| (path.clone(), form.clone()))
                .collect();
            expected.assert_is(&found, &context);
            assert_kept(&before, &after, &context);
            assert!(again.steps.is_empty(), "{:?}\n{context}", again.steps);
            assert!(again.conflicts.is_empty(), "{context}");
            // Two ends that need no model.
            if forms_of(host) == forms_of(old) || forms_of(host) == forms_of(new) {
                assert_eq!(found, forms_of(new), "{context}");
            } else if forms_of(new) != forms_of(old) {
                ends.merged += 1;
            }
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
