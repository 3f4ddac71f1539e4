//! The files that a sandbox began with: `msb diff`, `apply` and `discard` know what was copied into it.

use std::fs;
use std::path::{Path, PathBuf};

use super::{home, printed_as_is};
use crate::support::TestHome;

/// Returns the directory of a sandbox.
fn directory(home: &TestHome, name: &str) -> PathBuf {
    let id = printed_as_is(home, &["inspect", "--format", "{{.id}}", name]);
    let sandboxes = home.path().join("home/sandboxes");
    let mut entries = fs::read_dir(sandboxes).expect("read");
    let is_it = |entry: &fs::DirEntry| {
        let found = entry.file_name().to_string_lossy().into_owned();
        found.starts_with(id.trim()) || id.trim().starts_with(&found)
    };
    let found = entries.find_map(|entry| entry.ok().filter(is_it));
    found.expect("a sandbox").path()
}

fn create(home: &TestHome, name: &str, files: &[(&str, &str)]) {
    let project = home.path().join(name);
    for (path, text) in files {
        let path = project.join(path);
        fs::create_dir_all(path.parent().expect("above")).expect("made");
        fs::write(path, text).expect("written");
    }
    let copy = format!("{}:/work", project.display());
    let words = [
        "create",
        "--name",
        name,
        "--upper-size",
        "64M",
        "--copy",
        &copy,
        "app:1",
    ];
    printed_as_is(home, &words);
}

/// Makes the sandbox `agent`, which began with the files of `before` and changed them.
fn agent(home: &TestHome) {
    create(
        home,
        "before",
        &[("f", "one\n"), ("gone", "1\n"), (".git/index", "1\n")],
    );
    let changed = [
        ("f", "two\n"),
        ("new/g", "2\n"),
        (".git/index", "2\n"),
        (".git/hooks/x", "evil\n"),
        (".envrc", "evil\n"),
    ];
    create(home, "agent", &changed);
    let base = |name: &str| directory(home, name).join("base.ext4");
    fs::copy(base("before"), base("agent")).expect("copied");
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).expect("read")
}

#[test]
fn what_was_copied_at_creation_is_no_change() {
    let home = home();
    create(&home, "work", &[("f", "one\n")]);
    assert_eq!(printed_as_is(&home, &["diff", "work"]), "");
    assert_eq!(
        printed_as_is(&home, &["diff", "app:1", "work"]),
        "A /work\nA /work/f\n"
    );
    printed_as_is(&home, &["discard", "work", "/"]);
    assert_eq!(
        printed_as_is(&home, &["fs", "cat", "work", "/work/f"]),
        "one\n"
    );
    printed_as_is(&home, &["snapshot", "create", "work@a"]);
    printed_as_is(&home, &["discard", "work", "/work"]);
    assert_eq!(printed_as_is(&home, &["diff", "work@a", "work"]), "");
}

#[test]
fn files_are_taken_back_to_what_the_sandbox_began_with() {
    let home = home();
    agent(&home);
    let words = ["discard", "-n", "--exclude", ".git", "agent", "/work"];
    let letters = "D /work/.envrc\nC /work/f\nA /work/gone\nD /work/new\n";
    assert_eq!(printed_as_is(&home, &words), letters);
    let words: Vec<&str> = words.into_iter().filter(|word| *word != "-n").collect();
    assert_eq!(printed_as_is(&home, &words), letters);
    assert_eq!(
        printed_as_is(&home, &["fs", "cat", "agent", "/work/f"]),
        "one\n"
    );
    assert_eq!(
        printed_as_is(&home, &["fs", "cat", "agent", "/work/gone"]),
        "1\n"
    );
    let rest = printed_as_is(&home, &["diff", "--name-only", "agent"]);
    assert_eq!(
        rest,
        "/work/.git/hooks\n/work/.git/hooks/x\n/work/.git/index\n"
    );
    // Another base is named: the image has none of these files.
    let back = ["discard", "--base", "app:1", "--include", "f", "agent", "/"];
    assert_eq!(printed_as_is(&home, &back), "D /work/f\n");
    let refused = home.msb(&["discard", "agent@a", "/work"]);
    refused.assert_refused(&["msb discard --base agent@a agent PATH"]);
}

#[test]
fn a_fork_and_a_snapshot_know_it_and_an_import_says_that_it_does_not() {
    let home = home();
    agent(&home);
    let changes = printed_as_is(&home, &["diff", "agent"]);
    printed_as_is(&home, &["snapshot", "create", "agent@a"]);
    assert_eq!(printed_as_is(&home, &["diff", "agent@a"]), changes);
    printed_as_is(&home, &["fork", "agent@a", "try"]);
    let archive = home.path().join("archive");
    let archive = archive.to_str().expect("text");
    printed_as_is(&home, &["snapshot", "export", "-o", archive, "agent@a"]);
    printed_as_is(&home, &["rm", "agent"]);
    assert_eq!(printed_as_is(&home, &["diff", "try"]), changes);
    printed_as_is(&home, &["discard", "try", "/"]);
    assert_eq!(printed_as_is(&home, &["diff", "before", "try"]), "");

    let imported = home.msb(&["snapshot", "import", "-i", archive, "other"]);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    assert!(
        imported.stderr.contains("the sandbox's initial files"),
        "{}",
        imported.stderr
    );
    let refused = home.msb(&["discard", "other", "/work/f"]);
    refused.assert_refused(&["cannot discard the changes of '/work/f'", "sandbox other"]);
    refused.assert_hint("--base");
    assert_eq!(
        printed_as_is(&home, &["fs", "cat", "other", "/work/f"]),
        "two\n"
    );
    printed_as_is(&home, &["discard", "--base", "before", "other", "/work/f"]);
    assert_eq!(
        printed_as_is(&home, &["fs", "cat", "other", "/work/f"]),
        "one\n"
    );
}

#[test]
fn a_repository_is_left_out_and_commands_have_to_be_accepted() {
    let home = home();
    agent(&home);
    let project = home.path().join("before");
    let directory = project.to_str().expect("text");
    let words = ["apply", "--from", "/work", "agent", directory];
    let refused = home.msb(&words);
    assert_eq!(refused.code, Some(125), "{}", refused.stderr);
    let named = format!("msb: {directory}/.envrc: direnv runs commands that it names");
    assert!(refused.stderr.contains(&named), "{}", refused.stderr);
    refused.assert_hint("--accept /work/.envrc");
    assert_eq!(text(project.join("f")), "one\n", "something was written");

    let dry = home.msb(&[&words[..], &["--dry-run"]].concat());
    assert_eq!(dry.code, Some(0), "{}", dry.stderr);
    assert!(dry.stderr.contains(&named), "{}", dry.stderr);
    printed_as_is(&home, &["snapshot", "create", "agent@green"]);
    let words = [
        "apply",
        "--from",
        "/work",
        "--accept",
        "/work/.envrc",
        "agent@green",
        directory,
    ];
    let applied = home.msb(&words);
    let done = format!(
        "A {directory}/.envrc\nC {directory}/f\nD {directory}/gone\nA {directory}/new\nA {directory}/new/g\n"
    );
    assert_eq!((applied.code, applied.stdout), (Some(0), done));
    assert!(
        applied.stderr.contains("/work/.git are left out"),
        "{}",
        applied.stderr
    );
    assert_eq!(text(project.join(".git/index")), "1\n");
    assert!(!project.join(".git/hooks").exists());

    let words = ["apply", "--from", "/work", "agent", directory, "/work/.git"];
    home.msb(&words).assert_hint("--accept");
    let words = [
        &words[..4],
        &["--exclude", "hooks/", directory, "/work/.git"],
    ]
    .concat();
    assert_eq!(
        printed_as_is(&home, &words),
        format!("C {directory}/.git/index\n")
    );
}

#[test]
fn patterns_choose_among_changes() {
    let home = home();
    agent(&home);
    let shown = printed_as_is(
        &home,
        &["diff", "--include", "*nvrc", "--include", "new/", "agent"],
    );
    assert_eq!(shown, "A /work/.envrc\nA /work/new\nA /work/new/g\n");
    let refused = home.msb(&["diff", "--exclude", "a[", "agent"]);
    refused.assert_refused(&["'a[' is not a pattern"]);
    let words = [
        "commit",
        "--exclude",
        "/work/.*",
        "--exclude",
        "/work/new",
        "agent",
        "app:2",
    ];
    printed_as_is(&home, &words);
    assert_eq!(
        printed_as_is(&home, &["diff", "app:1", "app:2"]),
        "A /work\nA /work/f\n"
    );
}

#[test]
fn a_path_in_the_place_of_a_name_is_told() {
    let home = home();
    create(&home, "work", &[("f", "one\n")]);
    home.msb(&["diff", "work", "/etc"])
        .assert_refused(&["write paths behind --, as in msb diff work -- /etc"]);
    let refused = home.msb(&["fs", "ls", "work:/etc"]);
    assert!(
        refused.stderr.contains("two words: work /etc"),
        "{}",
        refused.stderr
    );
}
