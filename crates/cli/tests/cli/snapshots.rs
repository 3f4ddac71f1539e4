//! Snapshots of a sandbox that never ran.

use crate::support::{TestHome, host_architecture};

fn printed(home: &TestHome, words: &[&str]) -> String {
    let said = home.msb(words);
    assert_eq!(said.code, Some(0), "{words:?}: {}", said.stderr);
    said.stdout
}

fn home_with_box() -> TestHome {
    let home = TestHome::new();
    home.load("app", &host_architecture());
    printed(&home, &["create", "-q", "--name", "box", "app"]);
    home
}

#[test]
fn a_sandbox_has_its_snapshots_and_is_read_as_before() {
    let home = home_with_box();
    assert_eq!(printed(&home, &["snapshot", "create", "box"]), "box@1\n");
    let words = ["snapshot", "create", "-m", "a note", "box@clean"];
    assert_eq!(printed(&home, &words), "box@clean\n");
    assert_eq!(printed(&home, &["rollback", "box@1"]), "box@3\n");
    assert_eq!(
        printed(&home, &["snapshot", "ls", "-q"]),
        "box@1\nbox@clean\nbox@3\n"
    );
    let note = [
        "snapshot",
        "inspect",
        "--format",
        "{{.message}}",
        "box@clean",
    ];
    assert_eq!(printed(&home, &note), "a note\n");
    let automatic = ["snapshot", "ls", "--format", "{{.Name}} {{.automatic}}"];
    assert_eq!(printed(&home, &automatic), "1 false\nclean false\n3 true\n");
    let table = printed(&home, &["snapshot", "ls", "box"]);
    assert!(table.starts_with("SNAPSHOT"), "{table}");
    assert!(table.contains("before the rollback to 1"), "{table}");
    assert_eq!(printed(&home, &["fs", "cat", "box", "/greeting"]), "hello");
    assert_eq!(printed(&home, &["diff", "box"]), "");
    // A larger disk, and another name, are none of its snapshots' business.
    printed(&home, &["update", "--upper-size", "20G", "box"]);
    printed(&home, &["rename", "box", "crate"]);
    let words = ["snapshot", "rm", "crate@1", "crate@3", "crate@clean"];
    printed(&home, &words);
    assert_eq!(
        printed(&home, &["snapshot", "ls", "--format", "json"]),
        "[]\n"
    );
    assert_eq!(
        printed(&home, &["fs", "cat", "crate", "/greeting"]),
        "hello"
    );
    printed(&home, &["rm", "crate"]);
}

#[test]
fn what_cannot_be_done_says_why() {
    let home = home_with_box();
    home.msb(&["rollback", "box"])
        .assert_refused(&["sandbox box has no snapshots"]);
    home.msb(&["rollback", "nobody@1"])
        .assert_refused(&["no such sandbox: nobody"]);
    home.msb(&["snapshot", "create", "box@a/b"])
        .assert_refused(&["'a/b' is not a snapshot name"]);
    home.msb(&["snapshot", "rm", "box"])
        .assert_refused(&["'box' names no snapshot: write SANDBOX@NAME"]);
    printed(&home, &["snapshot", "create", "box@a"]);
    home.msb(&["snapshot", "create", "box@a"])
        .assert_refused(&["sandbox box has a snapshot a"]);
    let missing = home.msb(&["snapshot", "inspect", "box@b"]);
    missing.assert_refused(&["sandbox box has no snapshot b"]);
    missing.assert_hint("msb snapshot ls box");
    let discarded = home.msb(&["discard", "box", "/greeting"]);
    discarded.assert_refused(&["cannot discard changes of sandbox box: it has snapshots"]);
    discarded.assert_hint("msb rollback box@SNAPSHOT");
}
