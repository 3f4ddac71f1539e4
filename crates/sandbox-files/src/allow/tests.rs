use fs_err as fs;
use msb_runtime::{Home, Mount, Source, Staged};
use msb_sandbox_snapshots::StagedLayer;

use super::*;
use crate::fixture;

/// A home with a sandbox that has a staged directory of the host, without a disk.
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
        let mut spec = fixture::spec("agent");
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
        let sandbox = fixture::sandbox(&home, spec);
        let mut listing = sandbox.list_staged().expect("listed");
        let staged = home.staged_images();
        staged
            .stage(&mut listing, &sandbox.files.staged())
            .expect("staged");
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
    assert_eq!(written.tops, [b"srv/work/sealed"]);
    let tree = written.view.tree();
    assert!(tree.find(b"srv/work/sealed/deep/key").is_some());
    assert!(tree.find(b"srv/work/seen").is_none());
    found = bench.found("sealed");
    found.present.insert(b"sealed/deep/key".to_vec());
    found.present.insert(b"sealed/deep".to_vec());
    found.present.insert(b"sealed".to_vec());
    assert!(found.write().expect("written").is_none(), "it is there");
    let layer = StagedLayer::current(&bench.sandbox.files).expect("listed");
    assert_eq!(layer.expect("staged").let_in, [written.path]);
}
