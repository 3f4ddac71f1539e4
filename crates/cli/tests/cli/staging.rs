//! Staged directories of sandboxes that never ran: options and their refusals, `msb df`, and snapshots.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::staged_disk::write_staged;
use crate::support::{Said, TestHome, host_architecture};

/// Returns a home with an image, and a directory that has these files.
fn home_with(files: &[(&str, &str)]) -> (TestHome, PathBuf) {
    let home = TestHome::new();
    home.load("app", &host_architecture());
    let project = directory(&home, "project", files);
    (home, project)
}

/// Makes a directory with files. Its path has no symlinks.
fn directory(home: &TestHome, name: &str, files: &[(&str, &str)]) -> PathBuf {
    let directory = home.path().canonicalize().expect("there").join(name);
    fs::create_dir(&directory).expect("made");
    for (path, text) in files {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        fs::write(path, text).expect("written");
    }
    directory
}

fn staged(directory: &Path, target: &str) -> String {
    format!("{}:{target}:staged", directory.display())
}

/// Creates a sandbox, and says nothing of its staged directories.
fn create(home: &TestHome, name: &str, options: &[&str]) -> Said {
    let own = ["create", "-q", "--name", name];
    home.msb(&[&own[..], options, &["app", "true"]].concat())
}

#[track_caller]
fn created(home: &TestHome, name: &str, options: &[&str]) {
    let said = create(home, name, options);
    assert_eq!(said.code, Some(0), "{options:?}: {}", said.stderr);
}

#[track_caller]
fn printed(home: &TestHome, words: &[&str]) -> String {
    let said = home.msb(words);
    assert_eq!(said.code, Some(0), "{words:?}: {}", said.stderr);
    said.stdout
}

/// Returns true if the sandbox has a file at this path.
fn has(home: &TestHome, name: &str, path: &str) -> bool {
    home.msb(&["fs", "cat", name, path]).code == Some(0)
}

/// Returns the only mount of a sandbox, as `msb inspect` prints it.
fn mount_of(home: &TestHome, name: &str) -> Value {
    let mut json: Value = serde_json::from_str(&printed(home, &["inspect", name])).expect("JSON");
    json[0]["mounts"][0].take()
}

/// Checks that nothing was staged, and no sandbox was created.
#[track_caller]
fn assert_nothing_made(home: &TestHome) {
    assert_eq!(printed(home, &["ls", "-q"]), "");
    let images = fs::read_dir(home.path().join("home/staged"));
    assert_eq!(images.map_or(0, Iterator::count), 0);
}

#[test]
fn what_cannot_be_staged_is_refused_with_the_reason() {
    let (home, project) = home_with(&[("file", "one"), ("src/main", "two")]);
    let beside = directory(&home, "beside", &[("file", "three")]);
    let link = home.path().join("link");
    symlink(home.path().join("home"), &link).expect("made");
    let store = home.path().join("home");
    let twice = "are the same, or lie in each other";
    let not_staged = "it is not a directory; stage the directory that it is in";
    for (mounts, reason) in [
        (vec![(home.path(), "/work")], "it contains MSB_HOME"),
        (vec![(Path::new("/"), "/work")], "it contains MSB_HOME"),
        (vec![(&*store, "/work")], "it is in MSB_HOME"),
        (vec![(&*store.join("store"), "/work")], "it is in MSB_HOME"),
        (vec![(&*link, "/work")], "it is in MSB_HOME"),
        (
            vec![(&*project, "/work"), (&*beside, "/work")],
            "/work has two mounts",
        ),
        (vec![(&*project, "/work"), (&*project, "/other")], twice),
        (
            vec![(&*project, "/work"), (&*project.join("src"), "/other")],
            twice,
        ),
        (
            vec![(&*project.join("src"), "/work"), (&*project, "/other")],
            twice,
        ),
        (vec![(&*project, "/work"), (&*beside, "/work/in")], twice),
        (vec![(&*project.join("file"), "/work")], not_staged),
        (vec![(Path::new("/dev/null"), "/work")], not_staged),
        (
            vec![(&*project.join("missing"), "/work")],
            "cannot mount the host's",
        ),
    ] {
        let mounts = mounts.iter();
        let mounts: Vec<String> = mounts
            .map(|(directory, target)| staged(directory, target))
            .collect();
        let options: Vec<&str> = mounts.iter().flat_map(|one| ["-v", &**one]).collect();
        create(&home, "box", &options).assert_refused(&[reason]);
    }
    assert_nothing_made(&home);
}

#[test]
fn a_staged_directory_has_a_path_of_text() {
    let (home, _) = home_with(&[]);
    let latin = home.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&latin).expect("made");
    let link = home.path().join("link");
    symlink(&latin, &link).expect("made");
    create(&home, "box", &["-v", &staged(&link, "/work")]).assert_refused(&["is not UTF-8"]);
    // The working directory is one, too.
    let words = [
        "create",
        "-q",
        "--name",
        "box",
        "-v",
        ".:/work:staged",
        "app",
    ];
    let mut command = home.command(&words);
    let output = command.current_dir(&latin).output().expect("started");
    Said::from_output(&output).assert_refused(&["is not UTF-8"]);
    let mut volume = OsString::from(&latin);
    volume.push(":/work:staged");
    let mut command = home.command(&["create", "-q", "--name", "box", "-v"]);
    let output = command.arg(volume).arg("app").output().expect("started");
    let said = Said::from_output(&output);
    assert_eq!(said.code, Some(125), "{}", said.stderr);
    assert!(said.stderr.contains("invalid UTF-8"), "{}", said.stderr);
    assert_nothing_made(&home);
}

#[test]
fn a_disk_image_as_the_root_takes_no_staged_directory() {
    let (home, project) = home_with(&[("file", "one")]);
    let mount = staged(&project, "/work");
    let reason = "cannot stage a directory in a sandbox with --root-disk";
    let disk = home.path().join("disk.img");
    let mut format = Command::new("/sbin/mke2fs");
    let made = format
        .args(["-q", "-t", "ext4"])
        .arg(&disk)
        .arg("32M")
        .status();
    assert!(made.expect("mke2fs runs (package e2fsprogs)").success());
    let disk = disk.to_str().expect("text");
    let words = ["create", "-q", "--root-disk", disk, "-v", &mount, "true"];
    home.msb(&words).assert_refused(&[reason]);
    assert_nothing_made(&home);
}

#[test]
fn a_fork_has_the_staged_directory_and_takes_no_other() {
    let (home, project) = home_with(&[("file", "one")]);
    let beside = directory(&home, "beside", &[("file", "three")]);
    created(&home, "box", &["-v", &staged(&project, "/work")]);
    let mount = staged(&beside, "/other");
    let words = [
        "create", "-q", "--name", "two", "--from", "box", "-v", &mount, "true",
    ];
    home.msb(&words)
        .assert_refused(&["in a sandbox that begins with the disk of another one"]);
    assert_eq!(printed(&home, &["ls", "-q"]).lines().count(), 1);
    printed(&home, &["fork", "box", "three"]);
    // The fork keeps the image.
    printed(&home, &["rm", "box"]);
    printed(&home, &["prune"]);
    assert_eq!(printed(&home, &["fs", "cat", "three", "/work/file"]), "one");
}

#[test]
fn the_long_form_of_a_mount_stages_a_directory() {
    let (home, project) = home_with(&[("file", "one")]);
    let long = format!("type=bind,src={},dst=/work", project.display());
    let of = |more: &str| format!("{long},{more}");
    created(&home, "box", &["--mount", &of("staged")]);
    assert_eq!(printed(&home, &["fs", "cat", "box", "/work/file"]), "one");
    let mount = mount_of(&home, "box");
    assert_eq!(mount["type"], "staged", "{mount}");
    assert_eq!(mount["target"], "/work", "{mount}");
    assert_eq!(mount["read_only"], false, "{mount}");
    assert_eq!(mount["directory"], project.to_str().expect("text"));
    created(
        &home,
        "only-read",
        &["--mount", &of("staged=true,readonly")],
    );
    let mount = mount_of(&home, "only-read");
    assert_eq!(mount["type"], "staged", "{mount}");
    assert_eq!(mount["read_only"], true, "{mount}");
    created(&home, "shared", &["--mount", &of("staged=false")]);
    assert_eq!(mount_of(&home, "shared")["type"], "bind");
    for (option, value, reason) in [
        (
            "--mount",
            &*of("staged=maybe"),
            "'maybe' is not a value of 'staged'",
        ),
        (
            "--mount",
            "type=volume,src=data,dst=/work,staged",
            "only a directory of the host can be staged",
        ),
        (
            "--mount",
            "type=tmpfs,dst=/work,staged",
            "only a directory of the host can be staged",
        ),
        (
            "-v",
            "data:/work:staged",
            "only a directory of the host can be staged",
        ),
    ] {
        let said = create(&home, "refused", &[option, value]);
        assert_eq!(said.code, Some(125), "{value}: {}", said.stderr);
        assert!(said.stderr.contains(reason), "{value}: {}", said.stderr);
    }
}

#[test]
fn rules_are_read_from_the_named_file_and_never_from_the_directory() {
    let (home, project) = home_with(&[
        ("drop/a", "one"),
        ("late/a", "two"),
        ("kept", "three"),
        ("msb-rules", "kept=hide\n"),
        (".msb-rules", "kept=hide\n"),
    ]);
    let rules = home.path().join("rules");
    fs::write(&rules, "# Not for agents.\n\n drop = hide\r\n/late=hide\n").expect("written");
    let (mount, file) = (staged(&project, "/work"), rules.to_str().expect("text"));
    created(&home, "all", &["-v", &mount]);
    let options = ["-v", &mount, "--rule", "/work/late=allow", "--rules", file];
    created(&home, "box", &options);
    for (path, is_hidden) in [
        ("/work/drop/a", true),
        // An option goes before the same rule of a file, wherever it stands.
        ("/work/late/a", false),
        ("/work/kept", false),
        ("/work/msb-rules", false),
    ] {
        assert!(has(&home, "all", path), "{path}");
        assert_eq!(has(&home, "box", path), !is_hidden, "{path}");
    }
    fs::write(&rules, "drop=hide\nlate\n").expect("written");
    let damaged = create(&home, "none", &["-v", &mount, "--rules", file]);
    damaged.assert_refused(&["cannot use the rules in", file, "line 2"]);
    let missing = create(&home, "none", &["-v", &mount, "--rules", "/no/such/rules"]);
    missing.assert_refused(&["cannot read /no/such/rules"]);
    fs::write(&rules, "drop=hide\n").expect("written");
    let nowhere = create(&home, "none", &["--rules", file]);
    nowhere.assert_refused(&["rules are for directories of the host"]);
}

#[test]
fn without_the_default_rules_secrets_go_in_and_programs_need_a_yes_on_the_way_out() {
    let (home, project) = home_with(&[(".env", "TOKEN"), ("key.pem", "KEY"), ("file", "one")]);
    let mount = staged(&project, "/work");
    let words = ["create", "--name", "guarded", "-v", &mount, "app"];
    let guarded = home.msb(&words);
    assert_eq!(guarded.code, Some(0), "{}", guarded.stderr);
    let told = "the sandbox does not see .env, key.pem, which may hold secrets";
    assert!(guarded.stderr.contains(told), "{}", guarded.stderr);
    let words = [
        "create",
        "--name",
        "open",
        "-v",
        &mount,
        "--no-default-rules",
        "app",
    ];
    let open = home.msb(&words);
    assert_eq!(open.code, Some(0), "{}", open.stderr);
    assert!(!open.stderr.contains("secrets"), "{}", open.stderr);
    for path in ["/work/.env", "/work/key.pem"] {
        assert!(!has(&home, "guarded", path), "{path}");
        assert!(has(&home, "open", path), "{path}");
    }
    for name in ["guarded", "open"] {
        write_staged(&home, name, 0, &[(".envrc", Some("echo\n"))]);
    }
    let path = project.join(".envrc");
    let kept_back = format!(
        "R {} (direnv runs commands that it names)\n",
        path.display()
    );
    assert_eq!(printed(&home, &["apply", "guarded"]), kept_back);
    let refused = home.msb(&["apply", "open"]);
    assert_eq!(refused.code, Some(125), "{}", refused.stderr);
    let told = "'/work/.envrc' is not accepted: direnv runs commands that it names";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
    assert!(!path.exists());
    let accepted = ["apply", "--accept", "/work/.envrc", "open"];
    assert_eq!(printed(&home, &accepted), format!("A {}\n", path.display()));
    // A directory that is shared has none.
    let shared = format!("{}:/work", project.display());
    create(&home, "none", &["-v", &shared, "--no-default-rules"])
        .assert_refused(&["default rules are for staged directories"]);
}

#[test]
fn the_images_of_staged_directories_are_counted_and_pruned() {
    let (home, project) = home_with(&[("file", &"one".repeat(10_000))]);
    let counted = || {
        let json = printed(&home, &["df", "--format", "json"]);
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let group = &json["staged_directories"];
        let figure = |key: &str| group[key].as_u64().expect("a number");
        let keys = ["count", "active", "size_bytes", "reclaimable_bytes"];
        keys.map(figure)
    };
    assert_eq!(counted(), [0; 4]);
    let mount = staged(&project, "/work");
    created(&home, "one", &["-v", &mount]);
    created(&home, "two", &["-v", &mount]);
    // Both have one image.
    let [_, _, size_bytes, _] = counted();
    assert!(size_bytes >= 30_000, "{size_bytes}");
    assert_eq!(counted(), [1, 1, size_bytes, 0]);
    let table = printed(&home, &["df"]);
    let row = table
        .lines()
        .find(|line| line.starts_with("Staged directories"));
    let row: Vec<&str> = row.expect("a row").split_whitespace().collect();
    assert_eq!(row[2..4], ["1", "1"], "{table}");
    printed(&home, &["rm", "one"]);
    assert_eq!(counted(), [1, 1, size_bytes, 0]);
    let pruned = printed(&home, &["prune"]);
    assert!(!pruned.contains("staged"), "{pruned}");
    printed(&home, &["rm", "two"]);
    assert_eq!(counted(), [1, 0, size_bytes, size_bytes]);
    let planned = printed(&home, &["prune", "--dry-run"]);
    assert!(planned.contains("1 staged directories\n"), "{planned}");
    assert_eq!(counted(), [1, 0, size_bytes, size_bytes]);
    let pruned = printed(&home, &["prune"]);
    assert!(pruned.contains("1 staged directories\n"), "{pruned}");
    assert_eq!(counted(), [0; 4]);
}

#[test]
fn a_snapshot_has_the_staged_directory_of_its_time() {
    let (home, project) = home_with(&[("file", "one\n"), ("gone", "two\n")]);
    created(&home, "box", &["-v", &staged(&project, "/work")]);
    let changed = [("a", Some("1\n")), ("file", Some("2\n")), ("gone", None)];
    write_staged(&home, "box", 0, &changed);
    let all = "A /work/a\nC /work/file\nD /work/gone\n";
    assert_eq!(printed(&home, &["diff", "box"]), all);
    printed(&home, &["snapshot", "create", "box@all"]);
    printed(&home, &["discard", "box", "/work/a", "/work/gone"]);
    assert_eq!(printed(&home, &["diff", "box"]), "C /work/file\n");
    assert_eq!(printed(&home, &["diff", "box@all"]), all);
    let below = printed(&home, &["diff", "box@all", "--", "/work/a"]);
    assert_eq!(below, "A /work/a\n");
    let patch = printed(&home, &["diff", "--patch", "box@all", "--", "/work/file"]);
    assert!(patch.contains("-one\n+2\n"), "{patch}");
    let between = printed(&home, &["diff", "box@all", "box"]);
    assert_eq!(between, "D /work/a\nA /work/gone\n");
    assert_eq!(printed(&home, &["fs", "cat", "box@all", "/work/a"]), "1\n");
    assert!(!has(&home, "box@all", "/work/gone") && has(&home, "box", "/work/gone"));
    let path = |name: &str| project.join(name).display().to_string();
    let planned = printed(&home, &["apply", "-n", "box@all"]);
    let expected = format!("A {}\nC {}\nD {}\n", path("a"), path("file"), path("gone"));
    assert_eq!(planned, expected);
    let applied = printed(&home, &["apply", "box@all", "--", "/work/a"]);
    assert_eq!(applied, format!("A {}\n", path("a")));
    assert_eq!(fs::read_to_string(project.join("a")).expect("there"), "1\n");
}
