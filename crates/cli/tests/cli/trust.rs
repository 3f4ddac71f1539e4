//! The trust of sandboxes, and their placeholders in the place of secrets, before a machine runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{TestHome, host_architecture};

/// The certificate that the image trusts. No byte of it is looked at.
const OF_IMAGE: &str = "-----BEGIN CERTIFICATE-----\nSU1BR0U=\n-----END CERTIFICATE-----\n";
/// A word of the host that no export may have.
const HOST_WORD: &str = "canary-of-the-host";
/// A secret whose placeholder is a variable, and one whose placeholder is a file.
const SECRETS: [&str; 4] = [
    "--secret",
    "TOKEN@api.example.com",
    "--secret",
    "name=KEY,from=cmd:echo canary-of-the-host,every=1h,to=*.example.org,file=/home/me/.config/key,as=sk-",
];

/// Returns a home with an image whose bundle is a symlink, and which has a user.
fn home() -> TestHome {
    let mut layer = tar::Builder::new(Vec::new());
    let mut file = |path: &str, text: &str| {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        let added = layer.append_data(&mut header, path, text.as_bytes());
        added.expect("appended");
    };
    file(
        "etc/passwd",
        "root:x:0:0::/root:\nme:x:1000:100::/home/me:\n",
    );
    file("usr/share/ca.pem", &format!("# A note.\n{OF_IMAGE}"));
    let mut header = tar::Header::new_ustar();
    header.set_size(0);
    header.set_mode(0o777);
    header.set_entry_type(tar::EntryType::Symlink);
    let bundle = "etc/ssl/certs/ca-certificates.crt";
    let linked = layer.append_link(&mut header, bundle, "/usr/share/ca.pem");
    linked.expect("appended");
    let home = TestHome::new();
    let layer = layer.into_inner().expect("finished");
    home.load_layer("app:1", &host_architecture(), layer);
    home
}

#[track_caller]
fn printed(home: &TestHome, words: &[&str]) -> String {
    let said = home.msb(words);
    assert_eq!(said.code, Some(0), "{words:?}: {}", said.stderr);
    said.stdout
}

/// Makes the sandbox `box` with both secrets and one more file.
fn create(home: &TestHome, options: &[&str]) {
    let own = home.path().join("own");
    fs::write(&own, "of the sandbox").expect("written");
    let copy = format!("{}:/own", own.display());
    let words = [
        "create",
        "-q",
        "--name",
        "box",
        "--upper-size",
        "64M",
        "-u",
        "me",
    ];
    let words = [
        &words[..],
        &SECRETS,
        &["--copy", &copy],
        options,
        &["app:1", "true"],
    ];
    printed(home, &words.concat());
}

fn directory(home: &TestHome, name: &str) -> PathBuf {
    let directory = printed(home, &["inspect", "-f", "{{.directory}}", name]);
    directory.trim().into()
}

fn cat(home: &TestHome, name: &str, path: &str) -> String {
    printed(home, &["fs", "cat", name, path])
}

/// Returns lines of the sandbox's key, which are nowhere else.
fn canaries(directory: &Path) -> Vec<String> {
    let key = fs::read_to_string(directory.join("ca.key")).expect("a key");
    let lines = key
        .lines()
        .filter(|line| !line.starts_with('-') && line.len() > 8);
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    assert!(
        lines.iter().any(|line| line.len() > 32),
        "{} lines",
        lines.len()
    );
    lines
}

/// Checks that no file at or below a path has one of the words.
#[track_caller]
fn assert_lacks(path: &Path, words: &[String]) {
    let mut grep = Command::new("grep");
    grep.args(["-rlaF"]);
    for word in words {
        grep.args(["-e", word]);
    }
    let found = grep.arg("--").arg(path).output().expect("grep is there");
    let files = String::from_utf8_lossy(&found.stdout);
    assert_eq!(
        (found.status.code(), &*files),
        (Some(1), ""),
        "what stays here is there"
    );
}

/// Returns the value of a variable in the description of a sandbox.
fn placeholder(home: &TestHome, name: &str) -> String {
    let record = fs::read_to_string(directory(home, name).join("sandbox.json")).expect("read");
    let (_, value) = record.split_once("TOKEN=").expect("the variable");
    value
        .chars()
        .take_while(|character| *character != '"')
        .collect()
}

fn native_and_overlay(check: impl Fn(&TestHome)) {
    for options in [&[][..], &["--native-root"]] {
        let home = home();
        create(&home, options);
        check(&home);
    }
}

#[test]
fn certificates_and_placeholders_are_there_before_the_first_boot() {
    native_and_overlay(|home| {
        let directory = directory(home, "box");
        let own = fs::read_to_string(directory.join("ca.pem")).expect("a certificate");
        let bundle = cat(home, "box", "/etc/msb/ca.pem");
        let rest = bundle
            .strip_prefix(OF_IMAGE)
            .expect("the image's own comes first");
        assert_eq!(
            rest.split_whitespace().collect::<String>(),
            own.split_whitespace().collect::<String>()
        );
        assert!(cat(home, "box", "/home/me/.config/key").starts_with("sk-"));
        assert!(placeholder(home, "box").starts_with("msb-secret-"));
        for name in ["ca.key", "ca.pem"] {
            let metadata = fs::metadata(directory.join(name)).expect("there");
            assert_eq!(metadata.permissions().mode() & 0o7777, 0o600, "{name}");
        }
        // The guest's disk has no part of the key.
        let canaries = canaries(&directory);
        for name in ["base.ext4", "generations"] {
            let disk = directory.join(name);
            if disk.exists() {
                assert_lacks(&disk, &canaries);
            }
        }
    });
}

#[test]
fn what_msb_gives_a_guest_is_no_change_and_no_part_of_an_image() {
    let home = home();
    create(&home, &[]);
    assert_eq!(printed(&home, &["diff", "box"]), "");
    home.forget_bases();
    assert_eq!(printed(&home, &["diff", "box"]), "A /own\n");
    printed(&home, &["commit", "box", "app:2"]);
    assert_eq!(printed(&home, &["diff", "app:1", "app:2"]), "A /own\n");
    let saved = home.path().join("saved");
    let path = saved.to_str().expect("text");
    let save = [
        "save",
        "--format",
        "oci-dir",
        "--compression",
        "none",
        "-o",
        path,
        "app:2",
    ];
    printed(&home, &save);
    let mut words = canaries(&directory(&home, "box"));
    words.extend([HOST_WORD.to_owned(), placeholder(&home, "box")]);
    assert_lacks(&saved, &words);
    // They stay when all changes are taken back.
    printed(&home, &["discard", "box", "/"]);
    assert_eq!(printed(&home, &["diff", "box"]), "");
    assert!(cat(&home, "box", "/etc/msb/ca.pem").starts_with(OF_IMAGE));
    assert!(cat(&home, "box", "/home/me/.config/key").starts_with("sk-"));
}

#[test]
fn a_fork_has_the_same_authority_and_an_export_has_none() {
    native_and_overlay(|home| {
        printed(home, &["snapshot", "create", "box@a"]);
        printed(home, &["fork", "box@a", "two"]);
        let (one, two) = (directory(home, "box"), directory(home, "two"));
        for name in ["ca.key", "ca.pem"] {
            let read = |directory: &Path| fs::read(directory.join(name)).expect("read");
            assert_eq!(read(&one), read(&two), "{name}");
        }
        let mode = fs::metadata(two.join("ca.key"))
            .expect("there")
            .permissions();
        assert_eq!(mode.mode() & 0o7777, 0o600);
        assert_eq!(placeholder(home, "box"), placeholder(home, "two"));

        let archive = home.path().join("archive");
        let path = archive.to_str().expect("text");
        printed(home, &["snapshot", "export", "-o", path, "box@a"]);
        let extracted = home.path().join("extracted");
        fs::create_dir(&extracted).expect("made");
        let mut tar = Command::new("tar");
        tar.args(["--zstd", "-xSf"])
            .arg(&archive)
            .arg("-C")
            .arg(&extracted);
        assert!(tar.status().expect("tar is there").success());
        let mut words = canaries(&one);
        words.push(HOST_WORD.to_owned());
        assert_lacks(&extracted, &words);

        let imported = home.msb(&["snapshot", "import", "-i", path, "other"]);
        assert_eq!(imported.code, Some(0), "{}", imported.stderr);
        for left_out in [
            "the secret TOKEN was left out",
            "the secret KEY was left out",
        ] {
            assert!(imported.stderr.contains(left_out), "{}", imported.stderr);
        }
        let other = directory(home, "other");
        assert!(!other.join("ca.key").exists() && !other.join("ca.pem").exists());
        let record = fs::read_to_string(other.join("sandbox.json")).expect("read");
        assert!(
            !record.contains("TOKEN=") && !record.contains(HOST_WORD),
            "{record}"
        );

        printed(home, &["rm", "box", "two"]);
        assert!(!one.exists() && !two.exists());
    });
}

#[test]
fn a_sandbox_with_the_files_of_another_one_is_given_its_own_at_each_start() {
    let home = home();
    create(&home, &[]);
    let create = |name: &str, secret: &str| {
        let words = [
            "create", "-q", "--name", name, "--from", "box", "-u", "me", "--secret", secret, "true",
        ];
        printed(&home, &words);
        directory(&home, name)
    };
    let read = |directory: &Path, name: &str| fs::read_to_string(directory.join(name)).expect(name);
    let one = directory(&home, "box");
    let narrower = create("narrower", "TOKEN@api.example.com");
    // Files on the disk may hold the placeholder.
    assert_eq!(placeholder(&home, "narrower"), placeholder(&home, "box"));
    assert_ne!(read(&narrower, "ca.key"), read(&one, "ca.key"));
    let given = read(&narrower, "given.json");
    assert!(
        given.contains("/etc/msb/ca.pem") && given.contains("SU1BR0U="),
        "{given}"
    );
    let same = create("same", "TOKEN@api.example.com,*.example.org");
    assert_eq!(read(&same, "ca.key"), read(&one, "ca.key"));
    // A fork of it is given the same files.
    printed(&home, &["fork", "narrower", "fork"]);
    assert_eq!(read(&directory(&home, "fork"), "given.json"), given);
}

#[test]
fn a_variable_of_a_secret_is_set_once() {
    let home = home();
    let create =
        |words: &[&str]| home.msb(&[&["create", "-q"][..], words, &["app:1", "true"]].concat());
    let refused = create(&["--secret", "TOKEN@api.example.com", "-e", "TOKEN=mine"]);
    refused.assert_refused(&["TOKEN", "placeholder"]);
    refused.assert_hint("leave the variable out");
    let unknown = [
        "--secret",
        "name=KEY,to=api.example.com,file=/key",
        "-u",
        "nobody",
    ];
    create(&unknown).assert_refused(&["no user 'nobody'"]);
    let kept = create(&[
        "--name",
        "box",
        "--secret",
        "TOKEN@api.example.com",
        "-e",
        "SSL_CERT_FILE=/own",
    ]);
    assert_eq!(kept.code, Some(0), "{}", kept.stderr);
    let record = fs::read_to_string(directory(&home, "box").join("sandbox.json")).expect("read");
    assert!(record.contains("SSL_CERT_FILE=/own"), "{record}");
    assert!(
        record.contains("CURL_CA_BUNDLE=/etc/msb/ca.pem"),
        "{record}"
    );
    assert!(!record.contains("\"SSL_CERT_FILE=/etc/msb"), "{record}");
}

#[test]
fn a_sandbox_without_secrets_is_given_nothing() {
    let home = home();
    printed(
        &home,
        &[
            "create",
            "-q",
            "--name",
            "box",
            "--upper-size",
            "64M",
            "app:1",
            "true",
        ],
    );
    let directory = directory(&home, "box");
    for name in ["ca.key", "ca.pem", "given.json", "base.ext4"] {
        assert!(!directory.join(name).exists(), "{name}");
    }
    let record = fs::read_to_string(directory.join("sandbox.json")).expect("read");
    assert!(!record.contains("/etc/msb"), "{record}");
}
