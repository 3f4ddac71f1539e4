//! `docs/containerd.md` has the fields that are ignored and refused, with the reasons of the tables.

use std::collections::BTreeSet;

use oci_spec_plan::{IGNORED, UNSUPPORTED};

const PAGE: &str = include_str!("../../../../docs/containerd.md");

/// Returns the rows of the table below a heading.
fn rows(heading: &str) -> BTreeSet<&'static str> {
    let (_, section) = PAGE.split_once(heading).expect("the page has the heading");
    let section = section.split("\n### ").next().unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.collect()
}

#[test]
fn the_page_has_the_ignored_fields() {
    let expected = IGNORED.map(|field| format!("| `{}` | {} |", field.path, field.reason));
    let expected: BTreeSet<_> = expected.iter().map(String::as_str).collect();
    assert_eq!(rows("### Ignored fields"), expected);
}

#[test]
fn the_page_has_the_refused_fields() {
    let expected = UNSUPPORTED.map(|field| {
        let (path, reason, remedy) = (field.path, field.reason, field.remedy);
        format!("| `{path}` | {reason} | {remedy} |")
    });
    let expected: BTreeSet<_> = expected.iter().map(String::as_str).collect();
    assert_eq!(rows("### Refused fields"), expected);
}

#[test]
fn no_field_is_in_both_tables() {
    let mut paths = BTreeSet::new();
    let all = IGNORED
        .iter()
        .map(|field| field.path)
        .chain(UNSUPPORTED.iter().map(|field| field.path));
    for path in all {
        assert!(paths.insert(path), "{path}");
    }
}
