//! Chosen edits of texts, compared with what git makes of the same patch and of the same three texts.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::collection::vec;
use proptest::prelude::*;
use tree_diff::TextChange;

/// One of a few lines, some of which occur several times.
fn line(name: &'static str) -> impl Strategy<Value = String> {
    (0..40_u32).prop_map(move |number| format!("{name} {number}\n"))
}

/// An old text, and edits of it by one side: the number of a line, the lines that are removed there and those
/// that are inserted.
fn edited(old: &[String], edits: &[(usize, usize, Vec<String>)], is_ended: bool) -> Vec<u8> {
    let mut lines = old.to_vec();
    for (at, removed, inserted) in edits {
        let at = at % (lines.len() + 1);
        let end = (at + removed).min(lines.len());
        lines.splice(at..end, inserted.iter().cloned());
    }
    let mut text = lines.concat().into_bytes();
    if !is_ended {
        text.pop();
    }
    text
}

fn edits(name: &'static str) -> impl Strategy<Value = Vec<(usize, usize, Vec<String>)>> {
    vec((0..60_usize, 0..4_usize, vec(line(name), 0..4)), 0..6)
}

/// Returns lines that are all different, so that every program aligns them in the same way.
fn distinct(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("old {number}\n")).collect()
}

/// Returns what git makes of a text with a patch; `None` if it refuses it.
fn git_applied(text: &[u8], hunks: &[u8], directory: &Path) -> Option<Vec<u8>> {
    let path = directory.join("file");
    fs::write(&path, text).expect("written");
    let head = b"diff --git a/file b/file\n--- a/file\n+++ b/file\n";
    let mut child = Command::new("git")
        .args(["apply", "-"])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("git runs");
    let mut input = child.stdin.take().expect("piped");
    input
        .write_all(&[&head[..], hunks].concat())
        .expect("written");
    drop(input);
    let is_applied = child.wait().expect("ended").success();
    is_applied.then(|| fs::read(&path).expect("read"))
}

/// Returns what git merges of three texts; `None` if there are conflicts.
fn git_merged(host: &[u8], old: &[u8], new: &[u8], directory: &Path) -> Option<Vec<u8>> {
    for (name, text) in [("host", host), ("old", old), ("new", new)] {
        fs::write(directory.join(name), text).expect("written");
    }
    let output = Command::new("git")
        .args(["merge-file", "-p", "-q", "host", "old", "new"])
        .current_dir(directory)
        .output()
        .expect("git runs");
    output.status.success().then_some(output.stdout)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn oracle_git_applies_the_same_subset_of_hunks(
        old in vec(line("a"), 0..60),
        edits in edits("a"),
        ended in any::<(bool, bool)>(),
        chosen in vec(any::<bool>(), 60),
    ) {
        let directory = tempfile::tempdir().expect("a directory");
        let old_text = edited(&old, &[], ended.0);
        let new_text = edited(&old, &edits, ended.1);
        let change = TextChange::new(old_text.clone(), new_text.clone());
        let none = vec![false; change.len()];
        prop_assert_eq!(change.apply(&none), &old_text[..]);
        prop_assert_eq!(change.apply(&vec![true; change.len()]), &new_text[..]);
        prop_assert_eq!(change.merge(&old_text, &none), Ok(old_text.clone()));
        let chosen: Vec<bool> = chosen.into_iter().take(change.len()).collect();
        let applied = change.apply(&chosen);
        prop_assert_eq!(change.merge(&old_text, &chosen), Ok(applied.clone()));
        prop_assert_eq!(change.merge(&new_text, &chosen), Ok(new_text));
        if chosen.contains(&true) {
            let by_git = git_applied(&old_text, &change.patch(&chosen), directory.path());
            prop_assert_eq!(by_git, Some(applied));
        }
    }

    #[test]
    fn oracle_git_merges_chosen_edits_into_the_same_text(
        count in 0..60_usize,
        edits_there in edits("new"),
        edits_here in edits("host"),
        chosen in vec(any::<bool>(), 60),
    ) {
        let directory = tempfile::tempdir().expect("a directory");
        let old = distinct(count);
        let (old_text, host) = (edited(&old, &[], true), edited(&old, &edits_here, true));
        let change = TextChange::new(old_text.clone(), edited(&old, &edits_there, true));
        let chosen: Vec<bool> = chosen.into_iter().take(change.len()).collect();
        let by_git = git_merged(&host, &old_text, &change.apply(&chosen), directory.path());
        prop_assert_eq!(change.merge(&host, &chosen).ok(), by_git);
        for (index, overlaps) in change.overlaps(&host).into_iter().enumerate() {
            let alone: Vec<bool> = (0..change.len()).map(|edit| edit == index).collect();
            prop_assert_eq!(change.merge(&host, &alone).is_err(), overlaps);
        }
    }
}

#[test]
fn hunks_are_those_of_git_diff_and_divide_into_edits() {
    let old = distinct(40);
    let change = |lines: &[usize]| {
        let mut new = old.clone();
        for &line in lines {
            new[line] = format!("new {line}\n");
        }
        TextChange::new(old.concat().into_bytes(), new.concat().into_bytes())
    };
    let edits_of_hunks = |lines: &[usize]| {
        let hunks = change(lines).hunks().into_iter();
        hunks.map(|hunk| (hunk.start, hunk.end)).collect::<Vec<_>>()
    };
    assert_eq!(edits_of_hunks(&[3, 5, 30]), [(0, 2), (2, 3)]);
    assert_eq!(edits_of_hunks(&[3, 10]), [(0, 2)]);
    assert_eq!(edits_of_hunks(&[3, 11]), [(0, 1), (1, 2)]);
    assert_eq!(edits_of_hunks(&[]), []);
    let hunk = change(&[3, 5, 30]).patch(&[false, true, false]);
    let expected =
        "@@ -3,7 +3,7 @@\n old 2\n old 3\n old 4\n-old 5\n+new 5\n old 6\n old 7\n old 8\n";
    assert_eq!(String::from_utf8(hunk).expect("text"), expected);
}

#[test]
fn a_text_that_changed_the_same_lines_is_not_merged() {
    let change = TextChange::new(b"a\nb\nc\nd\ne\n".to_vec(), b"a\nB\nc\nd\nE\n".to_vec());
    let refused = change.merge(b"a\nb\nc\nd\nx\n", &[true, true]);
    assert_eq!(refused.expect_err("an overlap").edit, 1);
    // The edit that is in the way was not chosen, or is there.
    assert_eq!(
        change.merge(b"a\nb\nc\nd\nx\n", &[true, false]),
        Ok(b"a\nB\nc\nd\nx\n".to_vec())
    );
    assert_eq!(
        change.merge(b"a\nb\nc\nd\nE\n", &[true, true]),
        Ok(b"a\nB\nc\nd\nE\n".to_vec())
    );
}
