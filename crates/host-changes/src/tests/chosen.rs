//! Changes that are chosen one by one, and changes of several directories.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use tree_diff::{InMemory, Scope, Unrelated, compare};

use super::super::choice::{Choice, Choices, Choosing, settle_all};
use super::super::host_directory::HostDirectory;
use super::super::plan::Plan;
use super::super::write::{Written, run_all};
use super::super::{ApplyError, ApplyOptions, ConflictReason, check};
use super::editing::Editing;
use super::{Files, mode, read_tree, run, set_metadata, temporary, tree, write_tree};

/// A tree by path, in the form of [`tree`].
type Model = BTreeMap<String, String>;

/// Plans the changes between two trees, and chooses among the steps by their paths.
fn chosen(
    old: &Files,
    new: &Files,
    directory: &Path,
    choose: &mut dyn FnMut(&str) -> Choice,
) -> Result<Plan, ApplyError> {
    let (old, new) = (InMemory(old.clone()), InMemory(new.clone()));
    let changes = compare(&old, &new, &Unrelated, &Scope::everything()).expect("compared");
    let options = ApplyOptions {
        merges: true,
        ..ApplyOptions::default()
    };
    let host = HostDirectory::open(directory).expect("open");
    let mut plan = Plan::new((&old, &new), &changes, &host, &options).expect("planned");
    let mut choices = Choices::default();
    let mut choosing = Choosing {
        old: &old,
        new: &new,
        directory: &host,
        from: b"",
        plan: &mut plan,
        choices: &mut choices,
    };
    for step in choosing.offered() {
        let path = String::from_utf8_lossy(&choosing.plan.steps[step].path).into_owned();
        let choice = choose(&path);
        choosing.choices.add(step, choice);
    }
    let mut left_bytes = usize::MAX;
    choosing.settle(&mut left_bytes)?;
    if plan.conflicts.is_empty() {
        run((&old, &new), &host, &options, &plan)?;
    }
    Ok(plan)
}

fn model(files: Vec<(String, String)>) -> Model {
    files.into_iter().collect()
}

fn files(model: &Model) -> Vec<(&str, &str)> {
    let files = model.iter();
    files.map(|(path, text)| (&path[..], &text[..])).collect()
}

/// Adds, changes, replaces and removes some of a few names.
fn edited(model: &Model, random: &mut fastrand::Rng) -> Model {
    let mut model = model.clone();
    for _ in 0..random.usize(0..6) {
        let depth = random.usize(1..4);
        let names: Vec<&str> = (0..depth)
            .map(|_| ["a", "b", "c"][random.usize(0..3)])
            .collect();
        for end in 1..depth {
            model.remove(&names[..end].join("/"));
            model.insert(format!("{}/", names[..end].join("/")), String::new());
        }
        let path = names.join("/");
        let below = format!("{path}/");
        model.retain(|other, _| *other != path && !other.starts_with(&below));
        match random.usize(0..5) {
            0 => drop(model.insert(below, String::new())),
            1 => {}
            _ => drop(model.insert(path, random.u8(0..3).to_string())),
        }
    }
    model
}

#[test]
fn each_file_is_the_hosts_or_the_sandboxs_as_it_was_chosen() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut declined = 0;
    for _ in 0..500 {
        let old = edited(&edited(&Model::new(), &mut random), &mut random);
        let new = edited(&old, &mut random);
        let host = temporary();
        write_tree(&files(&old), host.path());
        let mut choices: BTreeMap<String, bool> = BTreeMap::new();
        let share = [0, 1, 2, 2][random.usize(0..4)];
        let plan = chosen(
            &tree(&files(&old)),
            &tree(&files(&new)),
            host.path(),
            &mut |path| {
                let is_made = random.u8(0..2) < share;
                choices.insert(path.to_owned(), is_made);
                if is_made {
                    Choice::Whole
                } else {
                    Choice::Nothing
                }
            },
        );
        let plan = plan.expect("applied");
        let found = model(read_tree(host.path()));
        let context = format!("{old:?}\n{new:?}\n{choices:?}\n{found:?}");
        if !choices.values().any(|is_made| !is_made) {
            assert_eq!(found, new, "{context}");
        }
        if !choices.values().any(|is_made| *is_made) {
            assert_eq!(found, old, "{context}");
        }
        let at = |model: &Model, path: &str| {
            let directory = model.contains_key(&format!("{path}/"));
            (directory, model.get(path).cloned())
        };
        let settled: BTreeSet<&[u8]> = plan.settled.iter().map(|path| &path[1..]).collect();
        for (path, &is_made) in &choices {
            let is_there = |model: &Model| at(&found, path) == at(model, path);
            let above = path.rsplit_once('/').map(|(above, _)| above.to_owned());
            let is_below_declined = choices.iter().any(|(other, made)| {
                !made
                    && above
                        .as_ref()
                        .is_some_and(|above| format!("{above}/").starts_with(&format!("{other}/")))
            });
            if is_made && !is_below_declined {
                assert!(is_there(&new), "{path} was chosen\n{context}");
            }
            if !is_made {
                declined += 1;
                assert!(is_there(&old), "{path} was declined\n{context}");
                assert!(
                    !settled.contains(path.as_bytes()),
                    "{path} is settled\n{context}"
                );
            }
        }
        // What is settled is as in the sandbox.
        for path in settled {
            let path = std::str::from_utf8(path).expect("text");
            assert_eq!(
                at(&found, path),
                at(&new, path),
                "{path} is settled\n{context}"
            );
        }
    }
    assert!(declined > 100, "{declined}");
}

/// Lines, of which some were changed.
fn lines(changed: &[(usize, &str)]) -> String {
    let mut lines: Vec<String> = (0..30).map(|number| format!("line {number}\n")).collect();
    for (number, text) in changed {
        lines[*number] = format!("{text}\n");
    }
    lines.concat()
}

#[test]
fn chosen_edits_are_merged_with_the_hosts() {
    let old = lines(&[]);
    let new = lines(&[(2, "two"), (20, "twenty")]);
    let (old_tree, new_tree) = (tree(&[("a", &old)]), tree(&[("a", &new)]));
    for (host_text, edits, expected) in [
        (
            lines(&[]),
            vec![false, true],
            Some(lines(&[(20, "twenty")])),
        ),
        (
            lines(&[(10, "mine")]),
            vec![true, true],
            Some(lines(&[(2, "two"), (10, "mine"), (20, "twenty")])),
        ),
        (
            lines(&[(20, "mine")]),
            vec![true, false],
            Some(lines(&[(2, "two"), (20, "mine")])),
        ),
        (lines(&[(20, "mine")]), vec![true, true], None),
    ] {
        let host = temporary();
        write_tree(&[("a", &host_text)], host.path());
        let plan = chosen(&old_tree, &new_tree, host.path(), &mut |_| {
            Choice::Edits(edits.clone())
        });
        let plan = plan.expect("planned");
        let reasons: Vec<&ConflictReason> = plan.conflicts.iter().map(|one| &one.reason).collect();
        assert_eq!(reasons.is_empty(), expected.is_some(), "{reasons:?}");
        let text = fs::read_to_string(host.path().join("a")).expect("read");
        assert_eq!(text, expected.unwrap_or(host_text));
        // A file of which a part was applied is no settled change.
        let is_whole = edits == [true, true];
        assert_eq!(plan.settled.len(), usize::from(is_whole));
    }
}

#[test]
fn a_whole_change_is_merged_too_and_binary_files_conflict() {
    let old = tree(&[("a", &lines(&[])), ("b", "1\0")]);
    let new = tree(&[("a", &lines(&[(2, "two")])), ("b", "2\0")]);
    let host = temporary();
    write_tree(&[("a", &lines(&[(9, "mine")])), ("b", "1\0")], host.path());
    chosen(&old, &new, host.path(), &mut |_| Choice::Whole).expect("applied");
    let text = fs::read_to_string(host.path().join("a")).expect("read");
    assert_eq!(text, lines(&[(2, "two"), (9, "mine")]));
    write_tree(&[("b", "3\0")], host.path());
    let plan = chosen(&old, &new, host.path(), &mut |_| Choice::Nothing).expect("planned");
    assert_eq!(plan.conflicts.len(), 1);
}

#[test]
fn a_text_that_cannot_be_merged_is_a_conflict_unless_it_is_declined() {
    let old = tree(&[("a", "1\n")]);
    let mut other_mode = old.clone();
    set_metadata(&mut other_mode, "a", |metadata| metadata.mode = 0o755);
    for new in [tree(&[("a", "2\0")]), other_mode] {
        let host = temporary();
        write_tree(&[("a", "mine\n")], host.path());
        let plan = chosen(&old, &new, host.path(), &mut |_| Choice::Whole).expect("planned");
        let reasons: Vec<&ConflictReason> = plan.conflicts.iter().map(|one| &one.reason).collect();
        assert_eq!(reasons, [&ConflictReason::Differs]);
        let plan = chosen(&old, &new, host.path(), &mut |_| Choice::Nothing).expect("planned");
        assert!(plan.conflicts.is_empty(), "{:?}", plan.conflicts);
        let text = fs::read_to_string(host.path().join("a")).expect("read");
        assert_eq!(text, "mine\n");
    }
}

#[test]
fn a_text_that_the_host_has_keeps_all_its_lines_if_one_of_its_names_gets_a_mode() {
    let changed = lines(&[(2, "two"), (20, "twenty")]);
    let (old, mut new) = (tree(&[("a", &lines(&[]))]), tree(&[("a", &changed)]));
    set_metadata(&mut new, "a", |metadata| metadata.mode = 0o755);
    let host = temporary();
    write_tree(&[("a", &changed)], host.path());
    let (path, other) = (host.path().join("a"), host.path().join("b"));
    fs::hard_link(&path, &other).expect("linked");
    let part = Choice::Edits(vec![true, false]);
    let refused = chosen(&old, &new, host.path(), &mut |_| part.clone());
    assert!(
        matches!(refused, Err(ApplyError::Choice { .. })),
        "{refused:?}"
    );
    chosen(&old, &new, host.path(), &mut |_| Choice::Whole).expect("applied");
    assert_eq!(fs::read_to_string(&path).expect("read"), changed);
    assert_eq!((mode(&path), mode(&other)), (0o755, 0o644));
}

#[test]
fn the_texts_of_all_directories_have_one_limit() {
    let hosts = [temporary(), temporary()];
    let new = lines(&[(2, "two"), (20, "twenty")]);
    let (old, new) = (
        InMemory(tree(&[("a", &lines(&[]))])),
        InMemory(tree(&[("a", &new)])),
    );
    let mut directories = Vec::new();
    for host in &hosts {
        write_tree(&[("a", &lines(&[]))], host.path());
        directories.push(HostDirectory::open(host.path()).expect("open"));
    }
    let options = ApplyOptions::default();
    let settled = |texts_max_bytes| {
        let plans = directories.iter();
        let mut plans: Vec<Plan> = plans
            .map(|directory| super::plan((&old, &new), directory, &options))
            .collect();
        let mut choices = [Choices::default(), Choices::default()];
        for choices in &mut choices {
            choices.add(0, Choice::Edits(vec![true, false]));
        }
        let all = plans.iter_mut().zip(&mut choices).zip(&directories);
        let all = all.map(|((plan, choices), directory)| Choosing {
            old: &old,
            new: &new,
            directory,
            from: b"",
            plan,
            choices,
        });
        settle_all(all, texts_max_bytes)
    };
    let text_bytes = lines(&[(2, "two")]).len();
    settled(2 * text_bytes).expect("there is room");
    let refused = settled(2 * text_bytes - 1).expect_err("there is none");
    assert!(
        matches!(refused, (1, ApplyError::TooMuchText { .. })),
        "{refused:?}"
    );
}

#[test]
fn edits_that_a_text_does_not_have_are_refused() {
    let (old, new) = (tree(&[("a", "1\n")]), tree(&[("a", "2\n")]));
    let host = temporary();
    write_tree(&[("a", "1\n")], host.path());
    let choice = Choice::Edits(vec![true, false]);
    let refused = chosen(&old, &new, host.path(), &mut |_| choice.clone());
    assert!(
        matches!(refused, Err(ApplyError::Choice { .. })),
        "{refused:?}"
    );
}

/// Runs the plans of two directories. `fail` arms the second one before it is written.
fn run_two(
    old: &str,
    fail: impl FnOnce(&Editing, &Path),
) -> (Vec<Vec<(String, String)>>, Option<usize>) {
    let hosts = [temporary(), temporary()];
    let mut sides = Vec::new();
    for host in &hosts {
        write_tree(&[("a", old), ("gone", "1")], host.path());
        let nowhere = host.path().join("missing/file");
        let old = Editing::new(&tree(&[("a", old), ("gone", "1")]), nowhere.clone());
        let new = Editing::new(&tree(&[("a", "new"), ("d/e/b", "2")]), nowhere);
        sides.push((old, new, HostDirectory::open(host.path()).expect("open")));
    }
    let options = ApplyOptions::default();
    let plans: Vec<Plan> = (sides.iter())
        .map(|(old, new, host)| super::plan((old, new), host, &options))
        .collect();
    for ((_, _, host), plan) in sides.iter().zip(&plans) {
        check::check(host, plan).expect("checked");
    }
    fail(&sides[1].1, hosts[1].path());
    let written = sides.iter().zip(&plans);
    let written =
        written.map(|((old, new, host), plan)| Written::new((old, new), host, &options, plan));
    let failed = run_all(written).err().map(|(index, _)| index);
    (
        hosts.iter().map(|host| read_tree(host.path())).collect(),
        failed,
    )
}

#[test]
fn a_second_directory_that_fails_leaves_the_first_as_it_was() {
    let pairs = |files: &[(&str, &str)]| -> Vec<(String, String)> {
        let files = files.iter();
        files
            .map(|(path, text)| (path.to_string(), text.to_string()))
            .collect()
    };
    let old = pairs(&[("a", "old"), ("gone", "1")]);
    let new = pairs(&[("a", "new"), ("d/", ""), ("d/e/", ""), ("d/e/b", "2")]);
    let (found, failed) = run_two("old", |_, _| {});
    assert_eq!((found, failed), (vec![new.clone(), new], None));
    // The disk of the sandbox fails.
    let (found, failed) = run_two("old", |side, _| side.is_armed.set(true));
    assert_eq!((found, failed), (vec![old.clone(), old.clone()], Some(1)));
    // The host's file changes.
    let (found, failed) = run_two("old", |_, host| {
        fs::write(host.join("gone"), "mine").expect("written")
    });
    let mine = pairs(&[("a", "old"), ("gone", "mine")]);
    assert_eq!((found, failed), (vec![old, mine], Some(1)));
}
