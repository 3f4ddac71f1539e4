//! Snapshots of a sandbox that never ran.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

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
    // The disk is that of both snapshots, so none is added.
    assert_eq!(printed(&home, &["rollback", "box@1"]), "box@clean\n");
    assert_eq!(
        printed(&home, &["snapshot", "ls", "-q"]),
        "box@1\nbox@clean\n"
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
    assert_eq!(printed(&home, &automatic), "1 false\nclean false\n");
    let consistency = ["snapshot", "inspect", "-f", "{{.consistency}}", "box@1"];
    assert_eq!(printed(&home, &consistency), "clean\n");
    let table = printed(&home, &["snapshot", "ls", "box"]);
    assert!(table.starts_with("SNAPSHOT"), "{table}");
    assert!(table.contains("a note"), "{table}");
    assert_eq!(printed(&home, &["fs", "cat", "box", "/greeting"]), "hello");
    assert_eq!(printed(&home, &["diff", "box"]), "");
    // A larger disk, and another name, are none of its snapshots' business.
    printed(&home, &["update", "--upper-size", "20G", "box"]);
    printed(&home, &["rename", "box", "crate"]);
    // No rollback made a snapshot.
    let merged = "0 snapshots, 0B reclaimed\n";
    assert_eq!(printed(&home, &["snapshot", "prune", "--force"]), merged);
    let words = ["snapshot", "rm", "crate@1"];
    assert_eq!(printed(&home, &words), "crate@1\n");
    let words = [
        "snapshot", "prune", "--all", "--filter", "until=1d", "crate",
    ];
    assert_eq!(printed(&home, &words), merged);
    let asked = home.msb(&["snapshot", "prune", "--all", "crate"]);
    assert_eq!(asked.code, Some(125));
    assert!(
        asked.stderr.contains("was not answered"),
        "{}",
        asked.stderr
    );
    let words = ["snapshot", "prune", "--all", "--force", "crate"];
    let pruned = printed(&home, &words);
    assert!(pruned.starts_with("crate@clean\n1 snapshot, "), "{pruned}");
    assert!(pruned.ends_with(" reclaimed\n"), "{pruned}");
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
        .assert_refused(&["'box' is not a snapshot: write SANDBOX@NAME"]);
    printed(&home, &["snapshot", "create", "box@a"]);
    home.msb(&["snapshot", "create", "box@a"])
        .assert_refused(&["sandbox box has a snapshot a"]);
    let missing = home.msb(&["snapshot", "inspect", "box@b"]);
    missing.assert_refused(&["sandbox box has no snapshot b"]);
    missing.assert_hint("msb snapshot ls box");
}

#[test]
fn changes_are_discarded_and_snapshots_keep_them() {
    let home = TestHome::new();
    home.load("app", &host_architecture());
    let changes = [
        "--mkdir",
        "/kept",
        "--mkdir",
        "/tried",
        "--rm-path",
        "/greeting",
    ];
    let create = ["create", "-q", "--name", "box", "--upper-size", "64M"];
    printed(&home, &[&create[..], &changes, &["app"]].concat());
    home.forget_bases();
    printed(&home, &["snapshot", "create", "box@a"]);
    let all = "D /greeting\nA /kept\nA /tried\n";
    assert_eq!(printed(&home, &["diff", "box"]), all);
    printed(&home, &["discard", "box", "/tried", "/greeting"]);
    assert_eq!(printed(&home, &["diff", "box"]), "A /kept\n");
    assert_eq!(printed(&home, &["fs", "cat", "box", "/greeting"]), "hello");
    assert_eq!(printed(&home, &["diff", "box@a"]), all);
    // Nothing is left of the disk beside, and what only the old disk had is gone.
    let sandbox = fs::read_dir(home.path().join("home/sandboxes"));
    let sandbox = sandbox
        .expect("listed")
        .next()
        .expect("one")
        .expect("an entry");
    let beside = fs::read_dir(sandbox.path().join("merging"));
    assert_eq!(beside.expect("listed").count(), 0);
    printed(&home, &["discard", "box", "/"]);
    assert_eq!(printed(&home, &["diff", "box"]), "");
    printed(&home, &["snapshot", "verify", "box"]);
    assert_eq!(printed(&home, &["rollback", "box@a"]), "box@2\n");
    assert_eq!(printed(&home, &["diff", "box"]), all);
    assert_eq!(printed(&home, &["diff", "box@2"]), "");
    printed(&home, &["snapshot", "rm", "box@2"]);
    printed(&home, &["snapshot", "rm", "box@a"]);
    printed(&home, &["discard", "box", "/"]);
    assert_eq!(printed(&home, &["diff", "box"]), "");
}

#[test]
fn damage_is_found_and_is_that_of_its_snapshot() {
    let home = home_with_box();
    for name in ["box@a", "box@b"] {
        printed(&home, &["snapshot", "create", name]);
    }
    let verify = ["snapshot", "verify", "box"];
    assert_eq!(printed(&home, &verify), "recorded box@a\nrecorded box@b\n");
    assert_eq!(printed(&home, &verify), "intact   box@a\nintact   box@b\n");
    let sandboxes = home.path().join("home/sandboxes");
    let mut all = fs::read_dir(&sandboxes).expect("listed");
    let sandbox = all.next().expect("one").expect("read").path();
    let record = sandbox.join("snapshots/a.json");
    let whole = fs::read_to_string(&record).expect("read");
    fs::write(&record, whole.replacen("\"number\": 1", "\"number\": 7", 1)).expect("written");
    let verified = home.msb(&verify);
    assert_eq!(verified.code, Some(1));
    assert!(
        verified.stdout.starts_with("DAMAGED  box@a: "),
        "{}",
        verified.stdout
    );
    assert!(
        verified.stdout.ends_with("intact   box@b\n"),
        "{}",
        verified.stdout
    );
    let listed = home.msb(&["snapshot", "ls", "-q"]);
    assert_eq!((listed.code, &*listed.stdout), (Some(125), "box@b\n"));
    assert!(
        listed.stderr.contains("a.json is damaged"),
        "{}",
        listed.stderr
    );
    home.msb(&["rollback", "box@a"])
        .assert_refused(&["a.json is damaged"]);
    printed(&home, &["rollback", "box@b"]);
    printed(&home, &["snapshot", "rm", "box@a"]);
    assert_eq!(printed(&home, &["snapshot", "ls", "-q"]), "box@b\n");
}

#[test]
fn digests_of_snapshots_are_taken_in_the_background() {
    let home = home_with_box();
    let mut create = home.command(&["snapshot", "create", "box@a"]);
    let created = create.env_remove("MSB_MAINTENANCE").output();
    assert!(created.expect("started").status.success());
    let mut sandboxes = fs::read_dir(home.path().join("home/sandboxes")).expect("listed");
    let sandbox = sandboxes.next().expect("one").expect("read").path();
    // The flag of a list whose digest was recorded (docs/formats/generations.md).
    let has_digest = |path: std::path::PathBuf| fs::read(path).expect("read")[32] & 1 == 1;
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let files = fs::read_dir(sandbox.join("generations")).expect("listed");
        let paths = files.map(|file| file.expect("read").path());
        let mut lists = paths.filter(|path| path.extension().is_some_and(|end| end == "blocks"));
        if lists.next().is_some_and(has_digest) {
            break;
        }
        assert!(Instant::now() < until, "no digest was taken");
        sleep(Duration::from_millis(20));
    }
    let verify = ["snapshot", "verify", "box"];
    assert_eq!(printed(&home, &verify), "intact   box@a\n");
}

#[test]
fn a_snapshot_is_read_by_its_name() {
    let home = home_with_box();
    printed(&home, &["snapshot", "create", "box@clean"]);
    let words = ["fs", "cat", "box@clean", "/greeting"];
    assert_eq!(printed(&home, &words), "hello");
    let copy = home.path().join("copy");
    let copied = copy.to_str().expect("text");
    printed(&home, &["cp", "box@clean:/greeting", copied]);
    assert_eq!(fs::read_to_string(&copy).expect("copied"), "hello");
    for words in [
        &["diff", "box@clean"][..],
        &["diff", "box@clean", "box"],
        &["diff", "app", "box@clean"],
    ] {
        assert_eq!(printed(&home, words), "");
    }
    let digest = printed(&home, &["commit", "box@clean", "of-snapshot"]);
    assert!(digest.starts_with("sha256:"), "{digest}");
    home.msb(&["cp", copied, "box@clean:/copy"])
        .assert_refused(&["snapshot box@clean is read-only"]);
    for words in [
        &["diff", "box@b"][..],
        &["diff", "box@b", "box"],
        &["commit", "box@b", "of-snapshot"],
        &["fs", "cat", "box@b", "/greeting"],
    ] {
        home.msb(words)
            .assert_refused(&["sandbox box has no snapshot b"]);
    }
}

#[test]
fn a_disk_is_one_of_generations_when_it_is_made_also_without_the_word() {
    let home = TestHome::new();
    home.load("app", &host_architecture());
    // The word has no effect.
    printed(
        &home,
        &["create", "-q", "--name", "old", "--snapshots", "app"],
    );
    printed(&home, &["create", "-q", "--name", "box", "app"]);
    for sandbox in fs::read_dir(home.path().join("home/sandboxes")).expect("listed") {
        let generations = sandbox.expect("read").path().join("generations");
        let names = fs::read_dir(generations).expect("listed");
        let names = names.map(|file| file.expect("read").file_name());
        let mut ends: Vec<String> = names
            .filter_map(|name| Some(name.to_str()?.rsplit_once('.')?.1.to_owned()))
            .collect();
        ends.sort();
        assert_eq!(ends, ["data", "disk", "lock", "log"]);
    }
    assert_eq!(printed(&home, &["fs", "cat", "box", "/greeting"]), "hello");
    let words = ["snapshot", "create", "--no-freeze", "box@a"];
    assert_eq!(printed(&home, &words), "box@a\n");
    let consistency = ["snapshot", "inspect", "-f", "{{.consistency}}", "box@a"];
    assert_eq!(printed(&home, &consistency), "clean\n");
}

#[test]
fn forks_begin_with_the_files_of_a_sandbox_and_outlive_it() {
    let home = home_with_box();
    printed(&home, &["snapshot", "create", "box@clean"]);
    let words = ["fork", "box@clean", "one", "two"];
    assert_eq!(printed(&home, &words), "one\ntwo\n");
    assert_eq!(
        printed(&home, &["fork", "-n", "2", "one"]),
        "one-1\none-2\n"
    );
    let words = ["fork", "-n", "1", "box", "try"];
    assert_eq!(printed(&home, &words), "try-1\n");
    let unnamed = printed(&home, &["fork", "box"]);
    assert_eq!(unnamed.trim().len(), 12, "{unnamed}");
    printed(
        &home,
        &[
            "create",
            "-q",
            "--name",
            "made",
            "--from",
            "box@clean",
            "--cpus",
            "1",
            "true",
        ],
    );
    let image = ["ls", "--format", "{{.name}} {{.image}}"];
    assert!(printed(&home, &image).contains(
        "made app
"
    ));
    // The source goes first.
    printed(&home, &["rm", "box"]);
    printed(&home, &["rm", "one"]);
    for name in ["two", "one-1", "one-2", "try-1", unnamed.trim(), "made"] {
        assert_eq!(printed(&home, &["fs", "cat", name, "/greeting"]), "hello");
        assert_eq!(printed(&home, &["diff", name]), "");
        assert_eq!(printed(&home, &["snapshot", "ls", "-q", name]), "");
    }
    printed(&home, &["snapshot", "create", "two@own"]);
    assert_eq!(
        printed(&home, &["snapshot", "verify", "two"]),
        "recorded two@own\n"
    );
}

#[test]
fn forks_that_cannot_be_made_leave_nothing() {
    let home = home_with_box();
    printed(
        &home,
        &[
            "create", "-q", "--name", "try-2", "-p", "8080:80", "-p", "81", "app",
        ],
    );
    let sandboxes = || printed(&home, &["ls", "--format", "{{.name}} {{.ports}}"]);
    let before = sandboxes();
    home.msb(&["fork", "-n", "3", "box", "try"])
        .assert_refused(&["the name 'try-2' is taken by another sandbox"]);
    home.msb(&["fork", "box", "a", "a"])
        .assert_refused(&["the name 'a' is taken by another sandbox"]);
    home.msb(&["fork", "box", "a", "b/c"])
        .assert_refused(&["'b/c' is not a sandbox name"]);
    home.msb(&["fork", "box@none", "a"])
        .assert_refused(&["sandbox box has no snapshot none"]);
    home.msb(&["fork", "-n", "2", "box", "a", "b"])
        .assert_refused(&["with --count one name is given"]);
    home.msb(&["create", "--from", "box@none", "true"])
        .assert_refused(&["sandbox box has no snapshot none"]);
    home.msb(&["create", "--from", "nobody"])
        .assert_refused(&["no such sandbox: nobody"]);
    home.msb(&["create", "--from", "box", "--mkdir", "/made"])
        .assert_refused(&["files cannot be changed before the first boot"]);
    assert_eq!(sandboxes(), before);
    // The port that the host chooses is each sandbox's own, the other one the source's.
    let forked = home.msb(&["fork", "try-2", "fork"]);
    assert_eq!(forked.code, Some(0), "{}", forked.stderr);
    assert!(forked.stderr.contains("8080"), "{}", forked.stderr);
    let listed = sandboxes();
    let ports = listed.lines().find(|line| line.starts_with("fork "));
    let ports = ports.expect("a fork");
    assert!(ports.contains("81") && !ports.contains("8080"), "{ports}");
}
