//! Names that a directory of the host takes for one.

use super::*;

/// The paths of files, with their texts.
type Texts<'a> = &'a [(&'a str, &'a str)];

/// Plans changes for a directory of the host that ignores case in and below `folding`; empty for all of it.
/// Returns the conflicts.
fn conflicts(
    (old, new): (Texts<'_>, Texts<'_>),
    host: Texts<'_>,
    folding: &str,
) -> Vec<(String, ConflictReason)> {
    let directory = temporary();
    write_tree(host, directory.path());
    let before = read_tree(directory.path());
    let (old, new) = (InMemory(tree(old)), InMemory(tree(new)));
    let changes = compare(&old, &new, &Unrelated, &Scope::everything()).expect("compared");
    let host = HostDirectory::open(directory.path()).expect("opened");
    let options = ApplyOptions::default();
    let ignores_case = |path: &[u8]| Ok(path.starts_with(folding.as_bytes()));
    let plan = Plan::with_case((&old, &new), &changes, &host, &options, ignores_case);
    let plan = plan.expect("planned");
    assert_eq!(read_tree(directory.path()), before);
    let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    let conflicts = plan.conflicts.iter();
    conflicts
        .map(|one| (text(&one.path), one.reason.clone()))
        .collect()
}

fn same(path: &str, other: &str) -> (String, ConflictReason) {
    let other = other.as_bytes().to_vec();
    (path.to_owned(), ConflictReason::SameName { other })
}

#[test]
fn new_names_that_are_one_on_the_host_are_named_before_anything_is_written() {
    let new = [
        ("Read.me", "1"),
        ("read.ME", "2"),
        ("sub/x/a", "3"),
        ("sub/x/A", "4"),
        ("b", "5"),
    ];
    let expected = [same("read.ME", "Read.me"), same("sub/x/a", "A")];
    assert_eq!(conflicts((&[], &new), &[], ""), expected);
    // The host tells the names of other directories apart.
    assert_eq!(
        conflicts((&[], &new), &[("sub/", "")], "sub"),
        expected[1..]
    );
    assert_eq!(conflicts((&[], &new), &[], "other"), []);
}

#[test]
fn a_new_name_is_not_one_of_the_sandbox_in_another_case() {
    let old = [("a", "1"), ("d/x", "2")];
    // Two directories would become one, and a file that changes only its case would be removed.
    let new = [("A", "1"), ("d/x", "2"), ("D/y", "3")];
    let expected = [same("A", "a"), same("D", "d")];
    assert_eq!(conflicts((&old, &new), &old, ""), expected);
}

#[test]
fn changes_of_one_name_are_no_conflict() {
    let old = [("a", "1"), ("gone", "2"), ("d/x", "3")];
    let new = [
        ("a", "changed"),
        ("d", "a file now"),
        ("new", "4"),
        ("New/y", "5"),
    ];
    assert_eq!(conflicts((&old, &new), &old, ""), [same("new", "New")]);
    let new = [("a", "changed"), ("d", "a file now"), ("new", "4")];
    assert_eq!(conflicts((&old, &new), &old, ""), []);
}

#[test]
fn a_directory_of_this_host_tells_names_apart() {
    let done = apply(
        &tree(&[]),
        &tree(&[("a", "1"), ("A", "2")]),
        temporary().path(),
        "",
    );
    assert_eq!(done.expect("no conflict"), ["A A", "A a"]);
}
