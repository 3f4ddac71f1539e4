use std::collections::{BTreeMap, BTreeSet};

use fstree::{Metadata, TreeBuilder};
use testkit::ThreeTrees;
use tree_diff::{InMemory, Scope, Unrelated, compare};

use super::*;

/// A small tree: content by path; `None` is a directory.
type Model = BTreeMap<String, Option<u8>>;

fn tree(model: &Model) -> Tree<Vec<u8>> {
    let mut builder = TreeBuilder::new(Metadata::directory(0o755));
    for (path, content) in model {
        let added = match content {
            None => builder.directory(path, Metadata::directory(0o755)),
            Some(byte) => builder.file(path, Metadata::with_mode(0o644), vec![*byte]),
        };
        added.expect("a path");
    }
    builder.finish()
}

/// Adds, changes, replaces and removes some of a few names.
fn edited(model: &Model, random: &mut fastrand::Rng) -> Model {
    let mut model = model.clone();
    for _ in 0..random.usize(0..8) {
        let depth = random.usize(1..4);
        let names: Vec<&str> = (0..depth)
            .map(|_| ["a", "b", "c"][random.usize(0..3)])
            .collect();
        let path = names.join("/");
        let above = (1..depth).map(|end| names[..end].join("/"));
        if above
            .into_iter()
            .any(|above| model.get(&above).is_none_or(Option::is_some))
        {
            continue;
        }
        let below = format!("{path}/");
        let choice = random.usize(0..4);
        let is_directory = model.get(&path) == Some(&None);
        if choice == 0 && is_directory {
            continue;
        }
        model.retain(|other, _| *other != path && !other.starts_with(&below));
        match choice {
            0 => drop(model.insert(path, None)),
            1 => {}
            _ => drop(model.insert(path, Some(random.u8(0..3)))),
        }
    }
    model
}

fn compared(old: &Model, new: &Model) -> Vec<Change> {
    let (old, new) = (InMemory(tree(old)), InMemory(tree(new)));
    let changes = compare(&old, &new, &Unrelated, &Scope::everything());
    changes.expect("compared")
}

/// The sandbox has what it changed, and otherwise what the host has now; a conflict is named exactly if
/// that is no tree, or both changed a path in different ways.
#[test]
fn random_edits_on_both_sides_are_merged_as_the_model_says() {
    let mut random = fastrand::Rng::with_seed(34);
    let (mut merged, mut refused) = (0, 0);
    for _ in 0..10_000 {
        let old = edited(&edited(&Model::new(), &mut random), &mut random);
        let (now, new) = (edited(&old, &mut random), edited(&old, &mut random));
        let found = Changes {
            own: compared(&old, &now),
            host: compared(&old, &new),
            between: compared(&now, &new),
        };
        let decided = decide(found, &tree(&now), &tree(&new));
        let paths: BTreeSet<&String> = old.keys().chain(now.keys()).chain(new.keys()).collect();
        let mut expected = Model::new();
        let mut collides = false;
        for path in paths {
            let (old, now, new) = (old.get(path), now.get(path), new.get(path));
            collides |= old != now && old != new && now != new;
            let wanted = if old == now { new } else { now };
            expected.extend(wanted.map(|wanted| (path.clone(), *wanted)));
        }
        collides |= expected.keys().any(|path| {
            let above = path.rsplit_once('/').map(|(above, _)| above);
            above.is_some_and(|above| expected.get(above) != Some(&None))
        });
        assert_eq!(
            collides,
            !decided.conflicts.is_empty(),
            "{old:?}\n{now:?}\n{new:?}\n{decided:?}"
        );
        if collides {
            refused += 1;
            continue;
        }
        merged += 1;
        let mut result = new.clone();
        for path in &decided.kept {
            let path = String::from_utf8_lossy(path)
                .trim_start_matches('/')
                .to_owned();
            result.remove(&path);
            result.extend(now.get(&path).map(|file| (path.clone(), *file)));
        }
        assert_eq!(result, expected, "{old:?}\n{now:?}\n{new:?}\n{decided:?}");
    }
    assert!(merged > 3_000 && refused > 500, "{merged} {refused}");
}

/// A further name of a file that the host changed is a conflict, too, which the model does not have.
#[test]
fn random_trees_with_links_and_permissions_are_merged_as_the_model_says() {
    let (mut merged, mut refused) = (0, 0);
    for seed in 0..2_000 {
        let trees = ThreeTrees::random(seed);
        let [old, now, new] = [trees.old(), trees.changed(), trees.host()].map(InMemory);
        let compared = |one: &InMemory, other: &InMemory| {
            let changes = compare(one, other, &Unrelated, &Scope::everything());
            changes.expect("compared")
        };
        let found = Changes {
            own: compared(&old, &now),
            host: compared(&old, &new),
            between: compared(&now, &new),
        };
        let decided = decide(found, &now.0, &new.0);
        match trees.restage_differences(&decided.kept) {
            None => {
                refused += 1;
                assert!(!decided.conflicts.is_empty(), "case {seed}: {trees:#?}");
            }
            Some(differences) if decided.conflicts.is_empty() => {
                merged += 1;
                assert!(
                    differences.is_empty(),
                    "case {seed}: {differences:#?}\n{trees:#?}\n{decided:?}"
                );
            }
            Some(_) => {}
        }
    }
    assert!(merged > 200 && refused > 50, "{merged} {refused}");
}

#[test]
fn a_path_is_found_below_one_of_many() {
    let paths = ["/a", "/a-b", "/a/b", "/c/d"].map(|path| path.as_bytes().to_vec());
    let mut paths = paths.to_vec();
    paths.sort_unstable_by(|one, other| by_names(one, other));
    paths.dedup_by(|path, above| is_strictly_below(path, above));
    assert_eq!(paths, [&b"/a"[..], b"/a-b", b"/c/d"]);
    let blockers = Blockers(paths);
    for path in ["/a/x", "/a/b/c", "/a-b/x", "/c/d/e/f"] {
        assert!(blockers.is_below(path.as_bytes()), "{path}");
    }
    for path in ["/a", "/b/x", "/a-c/x", "/c/x", "/c/dd/x"] {
        assert!(!blockers.is_below(path.as_bytes()), "{path}");
    }
}
