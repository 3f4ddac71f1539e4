//! Changes that are left out, and what that makes of the others.

use tree_diff::{Change, InMemory, PathFilter, Scope, Unrelated, compare, leave_out};

use crate::trees::{Files, find, name, tree};

fn lines(old: &Files, new: &Files, exclude: &[&str], include: &[&str]) -> Vec<String> {
    let (old, new) = (InMemory(old.clone()), InMemory(new.clone()));
    let mut changes = compare(&old, &new, &Unrelated, &Scope::everything()).expect("compared");
    let filter = PathFilter::new(exclude, include).expect("patterns");
    let is_directory = |change: &Change| change.new.is_some_and(|id| new.0.directory(id).is_some());
    let is_left_out = |change: &Change| {
        let is_old = change.old.is_some_and(|id| old.0.directory(id).is_some());
        let is_one = change.new.map_or(is_old, |_| is_directory(change));
        !filter.keeps(&change.path, is_one)
    };
    leave_out(&mut changes, is_left_out, is_directory);
    let line = |change: &Change| {
        let linked = change.hard_link.as_ref();
        let linked = linked.map_or(String::new(), |path| format!(" = {}", path.escape_ascii()));
        let implied = if change.is_implied { " (implied)" } else { "" };
        format!("{change}{linked}{implied}")
    };
    changes.iter().map(line).collect()
}

#[test]
fn a_directory_stays_if_something_in_it_does() {
    let old = tree(&[
        ("d/a", "1"),
        ("d/e/keep", "1"),
        ("d/e/b", "1"),
        ("d/f/c", "1"),
    ]);
    let new = tree(&[]);
    assert_eq!(
        lines(&old, &new, &[], &[]),
        [
            "D /d",
            "D /d/a (implied)",
            "D /d/e (implied)",
            "D /d/e/b (implied)",
            "D /d/e/keep (implied)",
            "D /d/f (implied)",
            "D /d/f/c (implied)"
        ]
    );
    assert_eq!(
        lines(&old, &new, &["keep"], &[]),
        ["D /d/a", "D /d/e/b", "D /d/f", "D /d/f/c (implied)"]
    );
    assert_eq!(lines(&old, &new, &["/d"], &[]), Vec::<String>::new());
}

#[test]
fn a_directory_that_becomes_a_file_is_left_out_with_what_stays_in_it() {
    let (old, new) = (tree(&[("d/keep", "1"), ("d/a", "1")]), tree(&[("d", "2")]));
    assert_eq!(lines(&old, &new, &["keep"], &[]), ["D /d/a"]);
}

#[test]
fn a_new_directory_comes_with_what_is_in_it() {
    let (old, new) = (
        tree(&[]),
        tree(&[("d/e/a.py", "1"), ("d/e/b", "1"), ("d/c", "1")]),
    );
    assert_eq!(
        lines(&old, &new, &[], &["*.py"]),
        ["A /d", "A /d/e", "A /d/e/a.py"]
    );
}

#[test]
fn names_of_a_file_are_linked_to_one_that_is_kept() {
    let (old, mut new) = (tree(&[]), tree(&[("a", "1")]));
    let (root, a) = (new.root(), find(&new, "a"));
    for label in ["b", "c"] {
        new.link(root, name(label), a);
    }
    assert_eq!(
        lines(&old, &new, &[], &[]),
        ["A /a", "A /b = /a", "A /c = /a"]
    );
    assert_eq!(lines(&old, &new, &["/a"], &[]), ["A /b", "A /c = /b"]);
}
