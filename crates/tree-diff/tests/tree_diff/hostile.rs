//! Trees that a guest made to exhaust the host.

use fstree::{FileKind, Inode, Metadata, Name, Tree};
use tree_diff::{CompareError, InMemory, Lines, Patcher, Scope, Unrelated, compare};

use crate::trees::{Files, changes, tree};

fn long_name() -> Name {
    Name::new(&[b'n'; 255]).expect("a name")
}

#[test]
fn deep_trees_are_refused_before_their_paths_fill_the_memory() {
    let empty: Files = Tree::new(Metadata::directory(0o755));
    let mut deep = empty.clone();
    let mut directory = deep.root();
    for _ in 0..20_000 {
        let inner = deep.add(Inode::directory(Metadata::directory(0o755)));
        deep.link(directory, long_name(), inner);
        directory = inner;
    }
    let refused = compare(
        &InMemory(empty),
        &InMemory(deep.clone()),
        &Unrelated,
        &Scope::everything(),
    );
    assert!(matches!(refused, Err(CompareError::TooManyChanges { .. })));
    // Without changes, depth is harmless.
    assert!(changes(&deep, &deep, &Scope::everything()).is_empty());
}

#[test]
fn many_names_of_one_file_share_the_path_that_they_link_to() {
    let mut old: Files = Tree::new(Metadata::directory(0o755));
    let mut directory = old.root();
    for _ in 0..1_000 {
        let inner = old.add(Inode::directory(Metadata::directory(0o755)));
        old.link(directory, long_name(), inner);
        directory = inner;
    }
    let file = old.add(Inode {
        metadata: Metadata::with_mode(0o644),
        kind: FileKind::Regular(Vec::new()),
    });
    old.link(directory, long_name(), file);
    let mut new = old.clone();
    for number in 0..20_000 {
        let name = Name::new(format!("z{number}").as_bytes()).expect("a name");
        new.link(new.root(), name, file);
    }
    let found = changes(&old, &new, &Scope::everything());
    assert_eq!(found.len(), 20_000);
    assert!(found.iter().all(|change| change.hard_link.is_some()));
}

#[test]
fn lines_that_are_hard_to_align_are_replaced() {
    // Two long texts of few different lines, in which no line is unique: aligning them takes the
    // square of their length.
    let text = |step: usize| -> String {
        let lines = (0..500_000_usize).map(|number| (number * number * step) % 7);
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        format!("head\n{lines}tail\n")
    };
    let (old, new) = (tree(&[("f", &text(3))]), tree(&[("f", &text(5))]));
    let change = &changes(&old, &new, &Scope::everything())[0];
    let made = Patcher::default().patch(&InMemory(old), &InMemory(new), change);
    let made = made.expect("read");
    let Lines::Text { inserted, deleted } = made.lines else {
        panic!("{:?}", made.lines)
    };
    // Both begin with `0`.
    assert_eq!((inserted, deleted), (499_999, 499_999));
    let start = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,500002 +1,500002 @@\n head\n 0\n-3\n";
    let found = String::from_utf8_lossy(&made.text[..start.len()]);
    assert_eq!(found, start);
}
