//! `msb diff` of sandboxes that never ran: their files were changed before the first boot, or by this
//! machine's kernel.

mod apply;
mod began;
mod commit;
mod discard;
mod image;
mod mounted;
mod oracle_overlay;
mod review;
mod review_staged;
mod staged;
mod terminal;
mod walk;

use std::fs;

use crate::support::{TestHome, host_architecture};

fn home() -> TestHome {
    let home = TestHome::new();
    home.load_layer(
        "app:1",
        &host_architecture(),
        image::layer("one\ntwo\nthree\n"),
    );
    home
}

/// Runs msb, which succeeds, and returns its output. A sandbox that it creates counts as one that began with
/// its image: what was copied into it are changes then, as if its guest had made them.
#[track_caller]
fn printed(home: &TestHome, words: &[&str]) -> String {
    let printed = printed_as_is(home, words);
    if words[0] == "create" {
        home.forget_bases();
    }
    printed
}

/// Runs msb, which succeeds, and returns its output.
#[track_caller]
fn printed_as_is(home: &TestHome, words: &[&str]) -> String {
    let said = home.msb(words);
    assert_eq!(said.code, Some(0), "{words:?}: {}", said.stderr);
    said.stdout
}

#[test]
fn a_sandbox_is_compared_with_its_image() {
    let home = home();
    let file = home.path().join("motd");
    fs::write(&file, "one\n2\nthree\n").expect("written");
    let copy = format!("{}:/etc/motd", file.display());
    let words = [
        "create",
        "--name",
        "work",
        "--rm-path",
        "/usr",
        "--mkdir",
        "/srv/new",
        "--copy",
    ];
    printed(&home, &[&words[..], &[&copy, "app:1"]].concat());
    printed(&home, &["create", "--name", "same", "app:1"]);
    assert_eq!(printed(&home, &["diff", "same"]), "");
    assert_eq!(
        printed(&home, &["diff", "--format", "json", "same"]),
        "[]\n"
    );
    let changes = "C /etc/motd\nA /srv\nA /srv/new\nD /usr\n";
    assert_eq!(printed(&home, &["diff", "work"]), changes);
    assert_eq!(printed(&home, &["diff", "app:1", "work"]), changes);
    assert_eq!(printed(&home, &["diff", "same", "work"]), changes);
    let back = "C /etc/motd\nD /srv\nA /usr\n";
    let found = printed(&home, &["diff", "work", "same"]);
    assert!(found.starts_with(back), "{found}");
    assert_eq!(
        printed(&home, &["diff", "--name-only", "work", "--", "srv"]),
        "/srv\n/srv/new\n"
    );
    let patch = "diff --git a/etc/motd b/etc/motd\n--- a/etc/motd\n+++ b/etc/motd\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    assert_eq!(printed(&home, &["diff", "-p", "work", "--", "/etc"]), patch);
    let stat = " /etc/motd |   2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n";
    assert_eq!(
        printed(&home, &["diff", "--stat", "work", "--", "/etc"]),
        stat
    );
}

#[test]
fn two_images_are_compared() {
    let home = home();
    home.load_layer("app:2", &host_architecture(), image::layer("one\n"));
    assert_eq!(printed(&home, &["diff", "app:1", "app:2"]), "C /etc/motd\n");
    assert_eq!(printed(&home, &["diff", "app:1", "app:1"]), "");
}

#[test]
fn a_comparison_that_cannot_be_made_is_refused() {
    let home = home();
    printed(&home, &["create", "--name", "work", "app:1"]);
    home.msb(&["diff", "nothing"]).assert_refused(&["nothing"]);
    home.msb(&["diff", "work", "nothing"])
        .assert_refused(&["no such sandbox or image: nothing"]);
    home.msb(&["diff", "work", "--", "/no/where"])
        .assert_refused(&["neither side has '/no/where'"]);
    home.msb(&["diff", "work", "--", "/etc/../usr"])
        .assert_refused(&["'/etc/../usr' contains '..'"]);
}
