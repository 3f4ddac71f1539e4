//! Sandboxes with a native root that never ran.

use crate::support::{Said, TestHome, host_architecture, tar};

/// Bytes of the large file, of which none is on a disk of a sandbox.
const LARGE_BYTES: usize = 8 << 20;

fn printed(home: &TestHome, words: &[&str]) -> String {
    let said = home.msb(words);
    assert_eq!(said.code, Some(0), "{words:?}: {}", said.stderr);
    said.stdout
}

/// Returns a home with an image of a large file, and its content.
fn home_with_image() -> (TestHome, Vec<u8>) {
    let home = TestHome::new();
    let large: Vec<u8> = (0..LARGE_BYTES)
        .map(|at| (at / 4096 + at % 7) as u8)
        .collect();
    let files = [
        ("greeting", b"hello".to_vec()),
        ("large", large.clone()),
        ("twin", large.clone()),
    ];
    home.load_layer("app", &host_architecture(), tar(&files));
    (home, large)
}

fn create(home: &TestHome, options: &[&str]) {
    let own = [
        "create",
        "-q",
        "--name",
        "box",
        "--native-root",
        "--upper-size",
        "64M",
    ];
    printed(home, &[&own[..], options, &["app", "true"]].concat());
}

#[test]
fn a_native_root_has_the_images_files_and_takes_no_space_for_them() {
    let (home, large) = home_with_image();
    create(&home, &["--mkdir", "/made", "--rm-path", "/twin"]);
    assert_eq!(printed(&home, &["fs", "cat", "box", "/greeting"]), "hello");
    let copy = home.path().join("copy");
    let to = copy.to_str().expect("text");
    printed(&home, &["cp", "-q", "box:/large", to]);
    assert!(std::fs::read(&copy).expect("copied") == large);
    let names = printed(&home, &["fs", "ls", "-q", "box", "/"]);
    assert!(names.contains("made") && !names.contains("twin"), "{names}");

    let shown = "{{.native_root}} {{.root_disk}}";
    assert_eq!(
        printed(&home, &["inspect", "-f", shown, "box"]),
        "true <nil>\n"
    );
    let listed = printed(&home, &["ps", "-a", "--format", "json"]);
    assert!(listed.contains("\"native_root\": true"), "{listed}");
    let allocated = printed(&home, &["inspect", "-f", "{{.allocated_bytes}}", "box"]);
    let allocated: usize = allocated.trim().parse().expect("a number");
    assert!(allocated < LARGE_BYTES / 4, "{allocated}");

    printed(&home, &["snapshot", "create", "box@a"]);
    printed(&home, &["fork", "box@a", "two"]);
    printed(
        &home,
        &["create", "-q", "--name", "three", "--from", "two", "true"],
    );
    printed(&home, &["snapshot", "verify", "box"]);
    assert_eq!(
        printed(&home, &["inspect", "-f", "{{.native_root}}", "three"]),
        "true\n"
    );
    for name in ["box@a", "three"] {
        assert_eq!(printed(&home, &["fs", "cat", name, "/greeting"]), "hello");
    }

    // The layers are held.
    home.msb(&["image", "rm", "app"]).assert_refused(&["box"]);
    let archive = home.path().join("archive");
    let archive = archive.to_str().expect("text");
    printed(&home, &["snapshot", "export", "-o", archive, "box@a"]);
    printed(&home, &["snapshot", "import", "-i", archive, "four"]);
    assert_eq!(printed(&home, &["fs", "cat", "four", "/greeting"]), "hello");

    printed(&home, &["snapshot", "prune", "--all", "--force", "box"]);
    assert_eq!(printed(&home, &["fs", "cat", "box", "/greeting"]), "hello");
}

#[test]
fn a_native_root_has_127_layers_and_what_was_copied_in() {
    const LAYERS: usize = 127;
    let home = TestHome::new();
    let content = |layer: usize| layer.to_string().repeat(3000);
    let layers = (0..LAYERS).map(|layer| {
        let own = format!("layer-{layer}");
        let content = content(layer).into_bytes();
        tar(&[(&*own, content.clone()), ("newest", content)])
    });
    home.load_layers("app", &host_architecture(), layers.collect());
    let text = |name: &str| home.path().join(name).to_str().expect("text").to_owned();
    // What is not a certificate is not passed on, but no byte in it is looked at.
    let authorities = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    std::fs::write(text("authorities.pem"), authorities).expect("written");
    std::fs::write(text("file"), "copied").expect("written");
    let copied = format!("{}:/srv/copied", text("file"));
    let create = [
        "create",
        "-q",
        "--name",
        "box",
        "--native-root",
        "--upper-size",
        "64M",
        "--host-ca",
        "--mkdir",
        "/srv",
        "--copy",
        &copied,
        "app",
        "true",
    ];
    let mut line = home.command(&create);
    line.env("SSL_CERT_FILE", text("authorities.pem"));
    let said = Said::from_output(&line.output().expect("started"));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    printed(&home, &["snapshot", "create", "box@a"]);
    for sandbox in ["box", "box@a"] {
        let file = |path: &str| printed(&home, &["fs", "cat", sandbox, path]);
        for layer in [0, 1, 63, LAYERS - 1] {
            assert!(
                file(&format!("/layer-{layer}")) == content(layer),
                "{layer}"
            );
        }
        assert!(file("/newest") == content(LAYERS - 1));
        assert_eq!(file("/srv/copied"), "copied");
        assert_eq!(file("/etc/msb/ca.pem"), authorities);
    }
}

#[test]
fn staged_directories_lie_beside_a_native_root_and_are_no_files_of_it() {
    let (home, large) = home_with_image();
    let project = home.path().join("project");
    std::fs::create_dir(&project).expect("made");
    std::fs::write(project.join("file"), "one").expect("written");
    let mount = format!("{}:/srv/work:staged", project.display());
    create(&home, &["-v", &mount, "--add-host", "db:10.0.0.1"]);
    printed(&home, &["snapshot", "create", "box@a"]);
    printed(&home, &["fork", "box@a", "two"]);
    for name in ["box", "box@a", "two"] {
        let file = |path: &str| printed(&home, &["fs", "cat", name, path]);
        assert_eq!(file("/greeting"), "hello", "{name}");
        assert_eq!(file("/srv/work/file"), "one", "{name}");
        let names = printed(&home, &["fs", "ls", "-q", name, "/"]);
        let beside = ["upper", "staged", "hosts"]
            .iter()
            .find(|one| names.contains(*one));
        assert_eq!(beside, None, "{name}: {names}");
    }
    // Its disk is that of the other one, its mounts are not.
    printed(
        &home,
        &["create", "-q", "--name", "three", "--from", "two", "true"],
    );
    assert_eq!(
        printed(&home, &["fs", "cat", "three", "/greeting"]),
        "hello"
    );

    let compared = home.msb(&["diff", "two"]);
    assert_eq!((compared.code, &*compared.stdout), (Some(0), ""));
    assert!(
        compared.stderr.contains("a native root cannot be"),
        "{}",
        compared.stderr
    );
    assert_eq!(printed(&home, &["diff", "box@a", "two"]), "");
    assert_eq!(printed(&home, &["discard", "two", "/srv/work"]), "");
    assert_eq!(printed(&home, &["apply", "two"]), "");
    for words in [
        &["diff", "two", "--", "/greeting"][..],
        &["diff", "two", "--", "/"],
        &["discard", "two", "/"],
        &["commit", "two", "app:2"],
        &["apply", "two", "."],
    ] {
        home.msb(words)
            .assert_refused(&["sandbox two has a native root"]);
    }

    // The disk is written anew, and the image's content stays in the layers.
    std::fs::write(project.join("file"), "two").expect("written");
    let expected = "C /srv/work/file\n";
    assert_eq!(printed(&home, &["restage", "-n", "two"]), expected);
    assert_eq!(printed(&home, &["restage", "two"]), expected);
    let file = |path: &str| printed(&home, &["fs", "cat", "two", path]);
    assert_eq!(file("/srv/work/file"), "two");
    assert_eq!(file("/greeting"), "hello");
    let copy = home.path().join("copy");
    printed(
        &home,
        &["cp", "-q", "two:/large", copy.to_str().expect("text")],
    );
    assert!(std::fs::read(&copy).expect("copied") == large);
    let allocated = printed(&home, &["inspect", "-f", "{{.allocated_bytes}}", "two"]);
    let allocated: usize = allocated.trim().parse().expect("a number");
    assert!(allocated < LARGE_BYTES / 4, "{allocated}");
    printed(&home, &["snapshot", "create", "two@a"]);
    printed(&home, &["snapshot", "verify", "two"]);
    assert_eq!(
        printed(&home, &["fs", "cat", "box", "/srv/work/file"]),
        "one"
    );
}

#[test]
fn what_needs_an_overlay_is_refused_with_the_reason() {
    let (home, _) = home_with_image();
    create(&home, &[]);
    printed(&home, &["snapshot", "create", "box@a"]);
    let reason = "sandbox box has a native root, whose changes are not stored separately from the image's files";
    for words in [
        &["diff", "box"][..],
        &["diff", "box@a", "box"],
        &["diff", "app", "box"],
        &["commit", "box", "app:2"],
        &["commit", "box@a", "app:2"],
        &["discard", "box", "/etc"],
        &["apply", "box", "."],
    ] {
        home.msb(words).assert_refused(&[reason]);
    }
}

#[test]
fn a_native_root_that_cannot_be_made_is_refused_and_nothing_is_left() {
    let (home, _) = home_with_image();
    let own = ["create", "--name", "box", "--native-root"];
    let small = [&own[..], &["--upper-size", "18M", "app", "true"]].concat();
    let said = home.msb(&small);
    said.assert_refused(&["the tree needs more blocks than the image has"]);
    said.assert_hint("choose a larger disk with --upper-size, or leave out --native-root");
    assert_eq!(printed(&home, &["ps", "-aq"]), "");
}
