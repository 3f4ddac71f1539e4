use fs_err as fs;
use msb_runtime::{Home, Mount, Source, Staged, UpperPool};
use msb_sandbox_snapshots::StagedLayer;

use super::found::Written;
use super::*;
use crate::files::describe;
use testkit::sandboxes;

/// A home with a sandbox that has a staged directory of the host and an empty disk.
struct Bench {
    root: tempfile::TempDir,
    sandbox: Sandbox,
}

impl Bench {
    fn new(rules: &[&str]) -> Self {
        let root = tempfile::tempdir().expect("a directory");
        let directory = root.path().join("project");
        for file in [
            "seen",
            ".env",
            "sealed/deep/key",
            "src/main.rs",
            "src/key.pem",
        ] {
            let path = directory.join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, file).expect("written");
        }
        let home = Home::new(root.path().join("home"));
        let mut spec = sandboxes::spec("agent");
        spec.mounts = vec![Mount {
            target: "/srv/work".parse().expect("a target"),
            read_only: false,
            source: Source::Staged(Staged {
                directory: Some(directory),
                rules: rules
                    .iter()
                    .map(|rule| rule.parse().expect("a rule"))
                    .collect(),
                default_rules: true,
            }),
        }];
        let sandbox = sandboxes::sandbox(&home, spec);
        let mut listing = sandbox.list_staged().expect("listed");
        let staged = home.staged_images();
        staged
            .stage(&mut listing, &sandbox.files.staged())
            .expect("staged");
        let disk = fs::File::create(sandbox.files.upper()).expect("made");
        disk.set_len(1 << 20).expect("made long");
        UpperPool::adopt(&sandbox.files).expect("adopted");
        Self { root, sandbox }
    }

    fn place(&self, path: &str) -> Result<Place, AllowError> {
        let permission = Permission {
            path: path.as_bytes().to_vec(),
            state: RuleState::Allow,
            is_kept: false,
        };
        Place::find(&self.sandbox, &permission)
    }

    fn found(&self, path: &str) -> Found {
        let place = self.place(path).expect("a place");
        Found::new(self.sandbox.clone(), place).expect("listed")
    }
}

fn paths(found: &Found) -> Vec<String> {
    let files = found.files().expect("few").into_iter();
    let text = |path| String::from_utf8(path).expect("text");
    files.map(|(path, _)| text(path)).collect()
}

#[test]
fn a_path_is_in_a_staged_directory_or_refused_by_name() {
    let bench = Bench::new(&[]);
    for (path, expected) in [
        ("/srv/work/.env", "/.env=allow"),
        ("a/./b", "/a/b=allow"),
        ("/srv/x/../work/a", "/a=allow"),
        ("/srv/work", "/=allow"),
    ] {
        let place = bench.place(path).expect(path);
        assert_eq!(place.rule.to_string(), expected);
    }
    for path in [
        "/srv",
        "/srv/work/../other",
        "/etc/passwd",
        "../x",
        "/../srv/work",
    ] {
        let error = bench.place(path).expect_err(path).to_string();
        assert!(
            error.contains(path) && error.contains("/srv/work"),
            "{error}"
        );
    }
    for path in ["/srv/work/*", "/srv/work/a?", "**"] {
        assert!(
            matches!(bench.place(path), Err(AllowError::Wildcard { .. })),
            "{path}"
        );
    }
}

#[test]
fn a_path_is_in_a_shared_directory_if_that_has_rules() {
    let mut bench = Bench::new(&[]);
    let shared = |target: &str, rules: &[&str]| Mount {
        target: target.parse().expect("a target"),
        read_only: false,
        source: Source::Bind {
            directory: "/srv".into(),
            rules: rules
                .iter()
                .map(|rule| rule.parse().expect("a rule"))
                .collect(),
        },
    };
    let mounts = [shared("/srv/work/data", &["a=ask"]), shared("/plain", &[])];
    bench.sandbox.spec.mounts.extend(mounts);
    let place = bench.place("/srv/work/data/./a/b").expect("a place");
    assert!(place.is_shared);
    assert_eq!(place.rule_text(), b"/a/b=allow");
    // A relative path is one of the staged directory.
    assert!(!bench.place("a").expect("a place").is_shared);
    let unruled = bench.place("/plain/a").expect_err("no rules").to_string();
    assert!(unruled.contains("/plain"), "{unruled}");
    bench.sandbox.spec.mounts.remove(0);
    let several = bench.place("a");
    assert!(matches!(several, Err(AllowError::Outside { .. })));
    bench.sandbox.spec.mounts.pop();
    assert_eq!(bench.place("a").expect("a place").rule_text(), b"/a=allow");
}

#[test]
fn a_lasting_answer_permits_what_was_asked_for_and_no_more() {
    for (kind, is_allowed, expected) in [
        ("path", true, RuleState::Allow),
        ("path", false, RuleState::Hide),
        ("read", true, RuleState::WriteAsk),
        ("read", false, RuleState::Deny),
        ("change", true, RuleState::Allow),
        ("change", false, RuleState::ReadOnly),
    ] {
        assert_eq!(lasting_state(kind, is_allowed), expected, "{kind}");
    }
}

#[test]
fn only_what_the_sandbox_does_not_have_is_let_in() {
    let bench = Bench::new(&["sealed=deny"]);
    assert_eq!(paths(&bench.found("/srv/work/.env")), [".env"]);
    assert_eq!(
        paths(&bench.found("sealed")),
        ["sealed", "sealed/deep", "sealed/deep/key"]
    );
    assert!(paths(&bench.found("seen")).is_empty());
    // A nearer rule still hides what is below.
    assert!(paths(&bench.found("src")).is_empty());
    assert_eq!(paths(&bench.found("src/key.pem")), ["src/key.pem"]);
    let image = bench.root.path().join("project/new");
    fs::write(image, "later").expect("written");
    assert!(paths(&bench.found(".env")) == [".env"], "another path");
}

#[test]
fn the_image_has_the_files_with_their_attributes_and_no_others() {
    let bench = Bench::new(&["sealed=hide"]);
    let mut found = bench.found("sealed/deep");
    let written = found.write().expect("written").expect("files");
    assert_eq!(written.copied.tops, [b"srv/work/sealed"]);
    let tree = written.copied.view.tree();
    assert!(tree.find(b"srv/work/sealed/deep/key").is_some());
    assert!(tree.find(b"srv/work/seen").is_none());
    found = bench.found("sealed");
    found.present.insert(b"sealed/deep/key".to_vec());
    found.present.insert(b"sealed/deep".to_vec());
    found.present.insert(b"sealed".to_vec());
    assert!(found.write().expect("written").is_none(), "it is there");
}

#[test]
fn files_are_a_part_of_the_base_only_once_they_were_copied() {
    let bench = Bench::new(&["sealed=hide"]);
    let images = || {
        let layer = StagedLayer::current(&bench.sandbox.files).expect("listed");
        layer.expect("staged").let_in
    };
    let write = || bench.found("sealed").write().expect("written");
    let interrupted = write().expect("files");
    assert!(images().is_empty(), "nothing was copied yet");
    drop(interrupted);
    let left = fs::read_dir(bench.sandbox.files.let_in()).expect("listed");
    assert_eq!(left.count(), 0);
    let first = write().expect("files").image.publish().expect("published");
    let second = write().expect("files").image.publish().expect("published");
    assert_eq!(images(), [first, second]);
}

#[test]
fn what_an_interrupted_command_copied_is_let_in_by_the_next() {
    let bench = Bench::new(&[]);
    let written = bench.found(".env").write().expect("written");
    let Written { image, copied } = written.expect("a file");
    let tree = copied.view.tree();
    let id = tree.find(b"srv/work/.env").expect("there");
    let stat = describe(tree.inode(id));
    let found = bench.found(".env");
    assert!(found.was_copied(b".env", &stat));
    assert!(!found.was_copied(b"src/key.pem", &stat), "another file");
    let mut own = stat.clone();
    own.mtime_ns ^= 1;
    assert!(!found.was_copied(b".env", &own), "made by the sandbox");
    image.publish().expect("published");
    let found = bench.found(".env");
    assert!(!found.was_copied(b".env", &stat), "it was let in");
}
