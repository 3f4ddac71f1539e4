//! Directories that are staged, compared with the images that they become.

mod bytes;
mod kinds;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use erofs_writer::Image;
use fstree::{FileData, FileKind, Tree};
use path_rules::Rules;
use staged_image::{Notices, Source, StageError, StagedImages, StoreError, list};

/// A host with directories to be staged, and the images of a home.
struct Host {
    root: tempfile::TempDir,
}

impl Host {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir(root.path().join("project")).expect("made");
        Self { root }
    }

    fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, content).expect("written");
    }

    fn images(&self) -> StagedImages {
        StagedImages::new(self.root.path().join("staged"))
    }

    /// Stages the project for a sandbox. Returns the path of the sandbox's image, and the notices.
    fn stage(&self, sandbox: &str, rules: &Rules) -> Result<(PathBuf, Notices), StoreError> {
        let directory = self.project();
        let source = Source {
            directory: &directory,
            rules,
        };
        let mut listing = list(&[source])?;
        let destination = self.root.path().join(sandbox);
        self.images().stage(&mut listing, &destination)?;
        Ok((destination, listing.notices))
    }
}

fn open(path: &Path) -> Image<File> {
    Image::open(File::open(path).expect("there")).expect("an image")
}

fn tree(path: &Path) -> Tree<FileData> {
    let image = open(path);
    image.verify().expect("a valid image");
    image.read_tree().expect("a tree")
}

fn rules(given: &[&str]) -> Rules {
    let mut rules = Rules::new();
    for rule in given {
        rules.push(rule.parse().expect("a rule")).expect("room");
    }
    rules
}

fn names(tree: &Tree<FileData>) -> Vec<String> {
    let walk = tree.walk();
    walk.map(|entry| String::from_utf8_lossy(&entry.path).into_owned())
        .collect()
}

#[test]
fn an_image_has_the_files_of_its_directories() {
    let host = Host::new();
    host.write("src/main.rs", "fn main() {}\n");
    host.write("empty", "");
    let project = host.project();
    fs::hard_link(project.join("src/main.rs"), project.join("linked")).expect("linked");
    symlink("/etc/passwd", project.join("outside")).expect("linked");
    let sparse = File::create(project.join("sparse")).expect("made");
    sparse.set_len(64 << 20).expect("grown");
    sparse
        .write_all_at(b"end", (64 << 20) - 3)
        .expect("written");
    let (image, notices) = host.stage("a", &Rules::new()).expect("staged");
    assert_eq!(notices, Notices::default());
    assert!(fs::metadata(&image).expect("there").len() < 1 << 20);
    let tree = tree(&image);
    let found = |path: &str| {
        let id = tree.find(format!("0/{path}").as_bytes());
        (id.expect("there"), tree.inode(id.expect("there")))
    };
    assert_eq!(found("src/main.rs").0, found("linked").0);
    let here = fs::metadata(project.join("linked")).expect("there");
    let metadata = &found("linked").1.metadata;
    assert_eq!(
        (metadata.uid, metadata.mtime.seconds),
        (here.uid(), here.mtime())
    );
    assert_eq!(u32::from(metadata.mode), here.mode() & 0o7777);
    assert!(
        matches!(&found("outside").1.kind, FileKind::Symlink(target) if **target == *b"/etc/passwd")
    );
    let opened = open(&image);
    let files = opened.files().expect("files");
    let content = files.read("0/src/main.rs").expect("read");
    assert_eq!(content, b"fn main() {}\n");
    let content = files.read("0/sparse").expect("read");
    assert_eq!(content.len(), 64 << 20);
    assert!(content.ends_with(b"\0end"));
}

#[test]
fn equal_directories_share_one_image() {
    let host = Host::new();
    host.write("a", "1");
    let (one, _) = host.stage("one", &Rules::new()).expect("staged");
    let (two, _) = host.stage("two", &Rules::new()).expect("staged");
    let inode = |path: &Path| fs::metadata(path).expect("there").ino();
    assert_eq!(inode(&one), inode(&two));
    let (other, _) = host.stage("hidden", &rules(&["a=hide"])).expect("staged");
    assert_ne!(inode(&one), inode(&other));
    host.write("a", "2");
    let (three, _) = host.stage("three", &Rules::new()).expect("staged");
    assert_ne!(inode(&one), inode(&three));
    for path in [one, two, other] {
        fs::remove_file(path).expect("removed");
    }
    let images = host.images();
    for image in images.all().expect("listed") {
        assert!(image.allocated_bytes > 0);
        if !image.is_used {
            images.remove(&image).expect("removed");
        }
    }
    let left = images.all().expect("listed");
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].identity.1, inode(&three));
}

#[test]
fn what_a_rule_keeps_out_is_not_in_the_image() {
    let host = Host::new();
    for (name, content) in [
        ("src/main.rs", "open"),
        (".env", "the-secret"),
        ("deep/.env", "the-secret"),
        ("target/a", "the-secret"),
        ("sealed/b", "the-secret"),
        ("denied", "the-secret"),
        ("asked", "the-secret"),
    ] {
        host.write(name, content);
    }
    let given = ["target=hide", "sealed=deny", "denied=deny", "asked=ask"];
    let mut all = Rules::with_defaults();
    for rule in given {
        all.push(rule.parse().expect("a rule")).expect("room");
    }
    let (image, notices) = host.stage("a", &all).expect("staged");
    assert_eq!(notices.hidden, [&b".env"[..], b"deep/.env"]);
    let bytes = fs::read(&image).expect("read");
    assert!(!bytes.windows(10).any(|window| window == b"the-secret"));
    let tree = tree(&image);
    let expected = [
        "",
        "0",
        "0/deep",
        "0/denied",
        "0/sealed",
        "0/src",
        "0/src/main.rs",
    ];
    assert_eq!(names(&tree), expected);
    for path in ["0/sealed", "0/denied"] {
        let id = tree.find(path.as_bytes()).expect("there");
        assert_eq!(tree.inode(id).metadata.mode, 0, "{path}");
    }
}

#[test]
fn what_a_rule_keeps_out_does_not_come_in_by_another_name() {
    let host = Host::new();
    host.write(".env", "the-secret");
    host.write("deep/denied", "the-secret");
    host.write("seen", "open");
    let project = host.project();
    for (from, to) in [
        (".env", ".aaa"),
        (".env", "notes"),
        ("deep/denied", "deep/a"),
        ("deep/denied", "deep/z"),
        ("seen", "seen-too"),
    ] {
        fs::hard_link(project.join(from), project.join(to)).expect("linked");
    }
    symlink("the-secret", project.join("link.key")).expect("linked");
    fs::hard_link(project.join("link.key"), project.join("other")).expect("linked");
    let other = host.root.path().join("second");
    fs::create_dir(&other).expect("made");
    fs::hard_link(project.join(".env"), other.join("first")).expect("linked");
    let mut all = Rules::with_defaults();
    all.push("denied=deny".parse().expect("a rule"))
        .expect("room");
    let none = Rules::new();
    let sources = [(&other, &none), (&project, &all)];
    let sources = sources.map(|(directory, rules)| Source { directory, rules });
    let mut listing = list(&sources).expect("listed");
    let image = host.root.path().join("a");
    host.images().stage(&mut listing, &image).expect("staged");
    let bytes = fs::read(&image).expect("read");
    assert!(!bytes.windows(10).any(|window| window == b"the-secret"));
    let expected = [
        "",
        "0",
        "1",
        "1/deep",
        "1/deep/denied",
        "1/seen",
        "1/seen-too",
    ];
    assert_eq!(names(&tree(&image)), expected);
    let linked = [
        &b"first"[..],
        b".aaa",
        b"deep/a",
        b"deep/z",
        b"notes",
        b"other",
    ];
    assert_eq!(listing.notices.linked, linked);
}

#[test]
fn a_nearer_rule_shows_a_file_in_a_directory_that_is_kept_out() {
    let host = Host::new();
    for name in [
        "secrets/README",
        "secrets/key",
        "secrets/deep/open/a",
        "sealed/open/b",
        "sealed/key",
        "sealed/mine",
        "target/x",
        ".ssh/config",
        ".ssh/notes.md",
    ] {
        host.write(name, name);
    }
    let project = host.project();
    let mode = fs::Permissions::from_mode(0o750);
    for name in ["secrets", "sealed"] {
        fs::set_permissions(project.join(name), mode.clone()).expect("set");
    }
    let mut all = Rules::with_defaults();
    for rule in [
        "secrets=hide",
        "secrets/README=allow",
        "secrets/deep/open=read-only",
        "sealed=deny",
        "sealed/open=allow",
        "mine=deny",
        "target=hide",
        "*.md=read-only",
    ] {
        all.push(rule.parse().expect("a rule")).expect("room");
    }
    let (image, notices) = host.stage("a", &all).expect("staged");
    assert_eq!(notices.hidden, [b".ssh"]);
    let tree = tree(&image);
    let expected = [
        "",
        "0",
        "0/.ssh",
        "0/.ssh/notes.md",
        "0/sealed",
        "0/sealed/open",
        "0/sealed/open/b",
        "0/secrets",
        "0/secrets/README",
        "0/secrets/deep",
        "0/secrets/deep/open",
        "0/secrets/deep/open/a",
    ];
    assert_eq!(names(&tree), expected);
    for path in ["0/secrets", "0/sealed"] {
        let id = tree.find(path.as_bytes()).expect("there");
        assert_eq!(tree.inode(id).metadata.mode, 0o750, "{path}");
    }
}

#[test]
fn a_rule_that_keeps_nothing_out_is_noticed() {
    let host = Host::new();
    for name in ["a", "b", "hidden/x", "deep/c"] {
        host.write(name, "");
    }
    let given = rules(&[
        "a=hide",
        "a=allow",
        "secret=hide",
        "b/*=deny",
        "/c=ask",
        "c=ask",
        "nothing=read-only",
        "hidden=hide",
        "hidden/x=hide",
        "/=allow",
    ]);
    let (_, notices) = host.stage("a", &given).expect("staged");
    assert_eq!(notices.unmatched, ["/c=ask", "b/*=deny", "secret=hide"]);
}

#[test]
fn a_rule_that_matches_in_one_of_two_directories_is_not_noticed() {
    let host = Host::new();
    host.write("a", "");
    let other = host.root.path().join("second");
    fs::create_dir(&other).expect("made");
    let project = host.project();
    let given = rules(&["a=hide", "b=hide"]);
    let sources = [&project, &other];
    let sources = sources.map(|directory| Source {
        directory,
        rules: &given,
    });
    let listing = list(&sources).expect("listed");
    assert_eq!(listing.notices.unmatched, ["b=hide"]);
}

#[test]
fn files_that_are_removed_before_they_are_read_are_left_out() {
    let host = Host::new();
    for name in ["kept", "gone", "deep/er/gone", "twice/a", "replaced/x"] {
        host.write(name, name);
    }
    let project = host.project();
    fs::hard_link(project.join("twice/a"), project.join("twice/b")).expect("linked");
    let rules = Rules::new();
    let source = Source {
        directory: &project,
        rules: &rules,
    };
    let mut listing = list(&[source]).expect("listed");
    let key = listing.key();
    fs::remove_file(project.join("gone")).expect("removed");
    fs::remove_file(project.join("twice/a")).expect("removed");
    for name in ["deep", "replaced"] {
        fs::remove_dir_all(project.join(name)).expect("removed");
    }
    fs::write(project.join("replaced"), "").expect("written");
    let image = host.root.path().join("a");
    host.images().stage(&mut listing, &image).expect("staged");
    assert_ne!(listing.key(), key);
    let expected = [
        "",
        "0",
        "0/deep",
        "0/deep/er",
        "0/kept",
        "0/replaced",
        "0/twice",
        "0/twice/b",
    ];
    assert_eq!(names(&tree(&image)), expected);
    let opened = open(&image);
    let content = opened.files().expect("files").read("0/twice/b");
    assert_eq!(content.expect("read"), b"twice/a");
}

#[test]
fn sockets_are_left_out_and_a_repository_elsewhere_is_noticed() {
    let host = Host::new();
    host.write("worktree/.git", "gitdir: /elsewhere\n");
    let socket = host.project().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(socket).expect("bound");
    let (_, notices) = host.stage("a", &Rules::new()).expect("staged");
    assert_eq!(notices.special, [b"socket"]);
    assert_eq!(notices.elsewhere, [b"worktree"]);
}

#[test]
fn a_file_that_does_not_stop_changing_is_refused_by_name() {
    let host = Host::new();
    host.write("log", "");
    let path = host.project().join("log");
    let is_over = AtomicBool::new(false);
    let refused = std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = fs::OpenOptions::new().append(true).open(&path);
            let file = file.expect("opened");
            while !is_over.load(Ordering::Relaxed) {
                std::io::Write::write_all(&mut &file, b"line\n").expect("written");
            }
        });
        // A busy host may keep the writer from running for as long as a file is read.
        let tries = (0..50).map(|number| host.stage(&format!("a{number}"), &Rules::new()));
        let refused = tries.filter_map(Result::err).next();
        is_over.store(true, Ordering::Relaxed);
        refused
    });
    let error = refused.expect("it changes");
    assert!(
        matches!(&error, StoreError::Stage(StageError::Changing { path: found, .. }) if *found == path),
        "{error:?}"
    );
}

#[test]
fn directories_that_are_too_deep_and_sources_that_are_none_are_refused() {
    let host = Host::new();
    let deep = vec!["d"; 300].join("/");
    fs::create_dir_all(host.project().join(deep)).expect("made");
    let refused = host.stage("a", &Rules::new()).expect_err("too deep");
    assert!(matches!(
        refused,
        StoreError::Stage(StageError::TooDeep { .. })
    ));
    assert!(host.stage("b", &rules(&["d=hide"])).is_ok());
    let file = host.root.path().join("file");
    fs::write(&file, "").expect("written");
    let rules = Rules::new();
    let source = Source {
        directory: &file,
        rules: &rules,
    };
    let refused = list(&[source]).expect_err("no directory");
    assert!(matches!(refused, StageError::NotDirectory { .. }));
}
