//! Image names compared with `github.com/distribution/reference`, by which docker and containerd
//! read them. This test fails if Go is not installed.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use oci_image::Reference;
use serde::Deserialize;

/// The output of the Go program in `ci/reference` for a name.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Verdict {
    refused: String,
    domain: String,
    path: String,
    tag: String,
    digest: String,
    full: String,
    familiar: String,
    canonical: String,
}

impl Verdict {
    /// Returns the result of msb for the name. The reason of a refusal is not compared.
    fn parse(name: &str) -> Option<Self> {
        let reference: Reference = name.parse().ok()?;
        Some(Self {
            refused: String::new(),
            domain: reference.registry().to_owned(),
            path: reference.repository().to_owned(),
            tag: reference.tag().unwrap_or_default().to_owned(),
            digest: reference
                .digest()
                .map(ToString::to_string)
                .unwrap_or_default(),
            full: reference.to_string(),
            familiar: reference.familiar(),
            canonical: reference.canonical().to_string(),
        })
    }
}

/// First parts of names: registries, texts that look like one, and texts that look like a part of
/// one.
#[rustfmt::skip] // Many names stand on one line.
const REGISTRIES: [&str; 50] = [
    "", "docker.io/", "index.docker.io/", "registry-1.docker.io/", "Docker.io/", "localhost/",
    "localhost:5000/", "LOCALHOST/", "LOCALDOMAIN/", "Docker/", "docker/", "library/", "a/b/",
    "ghcr.io/", "test.com:5000/", "test:5000/", "test:/", ":5000/", "test:port/", "x.io:70000/",
    "x.io:99999999999999999999/", "127.0.0.1/", "127.0.0.1:5000/", "256.1.1.1:1/", "[::1]/",
    "[::1]:5000/", "[::1]5000/", "[::1]::5000/", "[fe80::1%eth0]:5000/", "[fd00123123123]:75050/",
    "[::ffff:1.2.3.4]/", "[]/", "[::1/", "::1/", "fc00::1:5000/", "[::G]/", "xn--n3h.com/",
    "a_b.c/", "a__b.c/", "a___b.c/", "-a.b/", "a-.b/", "a..b/", ".a/", "a./", "ab.-com/",
    "https://x.io/", "user:pass@x.io/", "é.com/", "foo_bar.com:8080/",
];

/// Repositories, valid and invalid.
#[rustfmt::skip] // Many names stand on one line.
const REPOSITORIES: [&str; 44] = [
    "", "a", "debian", "a/b", "a/b/c/d", "library/debian", "library/a/b", "library", "0", "1.2",
    "a.b", "a..b", "a_b", "a__b", "a___b", "a-b", "a---b", "a-_b", "a_.b", "a.-b", "-a", "a-",
    "_a", "a_", ".a", "a.", "..", ".", "a/../b", "a//b", "a/", "/a", "A", "aB", "a/B", "é", "ǅ",
    "a b", "a\n", "a\u{0}", "a%2fb", "a\\b", "aa/asdf$$^/aa", "____/____",
];

/// Complete names that readers have interpreted differently.
#[rustfmt::skip] // Many names stand on one line.
const WHOLE: [&str; 40] = [
    "", ":", "@", "/", ":justtag", "a:", "a@", "a:@", "a:b:c", "a:b/c", "a:b/c:d", "a@b", "a@b@c",
    "test.com:5000", "test_com", "test.com:tag", "192.168.0.1", "192.168.0.1:80", "[2001:db8::1]",
    "[2001:db8::1]:5000", "[2001:db8::1]:tag", "fc00::1:5000/debian", "docker.io", "docker.io/",
    "localhost", "localhost:8080", "scheme://host/repo", "https://github.com/docker/docker",
    "lowercase:Uppercase", "Uppercase:tag", "Uppercase/lowercase:tag", "domain/a:b@", " debian",
    "debian ", "debian\t", "\u{feff}debian", "debian:latest\n", "sub-dom1.foo.com/bar/baz/quux",
    "b.gcr.io/test.example.com/my-app:test.example.com", "foo/foo_bar.com:8080",
];

fn endings() -> Vec<String> {
    let hex = |digits: usize| "0123456789abcdef".repeat(digits.div_ceil(16))[..digits].to_owned();
    let tags = [
        "",
        ":latest",
        ":1",
        ":V1.0-rc_1",
        ":_",
        ":-a",
        ":.a",
        ":a.",
        ":a-",
        ":é",
        ":a b",
        ":a\n",
    ];
    let mut endings: Vec<String> = tags.map(str::to_owned).to_vec();
    endings.extend([128, 129].map(|length| format!(":{}", "t".repeat(length))));
    for algorithm in [
        "sha256",
        "sha384",
        "sha512",
        "sha1",
        "md5",
        "SHA256",
        "sha256+b64",
        "sha-256",
        "blake3",
        "invaliddigest",
        "",
        "../../sha256",
        "sha256:sha256",
        "s_",
        "1sha",
    ] {
        for digits in [0, 1, 31, 32, 40, 63, 64, 65, 96, 128] {
            endings.push(format!("@{algorithm}:{}", hex(digits)));
        }
    }
    endings.push(format!("@sha256:{}", hex(64).to_uppercase()));
    endings.push(format!("@sha256:{}g", hex(63)));
    endings.push(format!("@sha256:../../{}", hex(58)));
    endings.push(format!("@sha256{}", hex(64)));
    endings.push(format!(":tag@sha256:{}", hex(64)));
    endings.push(format!(":tag@sha512:{}", hex(128)));
    endings.push(format!("@sha256:{}:tag", hex(64)));
    endings.push(format!("@sha256:{0}@sha256:{0}", hex(64)));
    endings.push(format!(":@sha256:{}", hex(64)));
    endings
}

fn names() -> Vec<String> {
    let mut names: BTreeSet<String> = WHOLE.map(str::to_owned).into();
    for registry in REGISTRIES {
        names.extend(REPOSITORIES.map(|repository| format!("{registry}{repository}")));
        names.extend(["", ":tag"].map(|tag| format!("{registry}debian{tag}")));
    }
    for name in [
        "debian",
        "x.io:5000/a/b",
        "[::1]/a",
        "docker.io/library/a",
        "a_b.c/d",
    ] {
        names.extend(endings().iter().map(|ending| format!("{name}{ending}")));
    }
    let hex = "1a3f5e7d9c1b3a5f7e9d1c3b5a7f9e1d3c5b7a9f1e3d5d7c9b1a3f5e7d9c1b3a";
    names.extend(["", "docker.io/", "sha256:", "x/"].map(|before| format!("{before}{hex}")));
    names.extend(["", "0"].map(|before| format!("{before}{}", &hex[1..])));
    names.insert(hex.to_uppercase());
    for length in [247, 248, 254, 255, 256, 300] {
        for before in ["", "docker.io/", "x.io/", "x.io:5000/library/"] {
            names.insert(format!("{before}{}:tag", "a".repeat(length)));
        }
        names.insert(format!("{}a:tag-puts-this-over", "a/".repeat(length / 2)));
        names.insert(format!("{}.io/a", "x".repeat(length)));
    }
    names.into_iter().collect()
}

fn oracle(names: &[String]) -> Vec<Verdict> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/reference");
    let mut child = Command::new("go")
        .args(["run", "."])
        .current_dir(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("go must be installed (package golang-go)");
    let mut input = child.stdin.take().expect("a pipe");
    let lines: String = names
        .iter()
        .map(|name| serde_json::json!(name).to_string() + "\n")
        .collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("a thread").expect("it reads");
    assert!(output.status.success(), "go run failed");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a verdict"))
        .collect()
}

#[expect(clippy::print_stdout, reason = "the figures are worth printing")]
#[test]
fn oracle_names_are_read_as_docker_reads_them() {
    let names = names();
    let verdicts = oracle(&names);
    assert_eq!(verdicts.len(), names.len());
    let (mut accepted, mut differences) = (0, Vec::new());
    for (name, theirs) in names.iter().zip(verdicts) {
        let ours = Verdict::parse(name);
        let theirs = theirs.refused.is_empty().then_some(theirs);
        accepted += usize::from(theirs.is_some());
        if ours != theirs {
            differences.push(format!("{name:?}: msb {ours:?}, docker {theirs:?}"));
        }
    }
    println!(
        "{} names, {accepted} of them valid, {} read differently",
        names.len(),
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(names.len() > 2000 && accepted > 400, "too few names");
}
