use super::*;

#[test]
fn names_are_read_as_docker_reads_them() {
    let digest = crate::Digest::compute(b"");
    let with_digest = format!("docker.io/library/debian@{digest}");
    let with_both = format!("docker.io/library/debian:12@{digest}");
    let table = [
        ("debian", "docker.io/library/debian:latest"),
        ("debian:12", "docker.io/library/debian:12"),
        ("index.docker.io/debian", "docker.io/library/debian:latest"),
        ("user/app", "docker.io/user/app:latest"),
        ("test.com:5000", "docker.io/library/test.com:5000"),
        ("test:5000/repo", "test:5000/repo:latest"),
        ("localhost/a/b:1", "localhost/a/b:1"),
        ("127.0.0.1:5000/x", "127.0.0.1:5000/x:latest"),
        ("[::1]:5000/x:y", "[::1]:5000/x:y"),
        (
            "ghcr.io/a__b/c-d.e:V1.0-rc_1",
            "ghcr.io/a__b/c-d.e:V1.0-rc_1",
        ),
        (&format!("debian@{digest}"), &with_digest),
        (&format!("debian:12@{digest}"), &with_both),
        ("a_b.c/d", "a_b.c/d:latest"),
        // Fuzzing found this name: without `docker.io/`, `a.example` would be read as the
        // registry.
        ("docker.io/a.example/b", "docker.io/a.example/b:latest"),
    ];
    for (text, full) in table {
        let reference: Reference = text.parse().expect(text);
        assert_eq!(reference.to_string(), full);
        assert_eq!(
            reference.familiar().parse::<Reference>().as_ref(),
            Ok(&reference)
        );
    }
}

#[test]
fn other_texts_are_refused() {
    let long = "a".repeat(300);
    let bad = [
        "",
        ":",
        "@",
        "Debian",
        "a//b",
        "/a",
        "a/",
        "a:",
        "a:b:c",
        "-a",
        "a_-b",
        "a..b",
        "a b",
        "a:b/c",
        "a@sha256:00",
        "a@md5:00",
        "x.y:port/z",
        "[::g]/a",
        "[::1]5/a",
        "é",
        "../a",
        &long,
        "x.io:/a",
        "a/b:\u{1b}[31m",
    ];
    for text in bad {
        assert!(text.parse::<Reference>().is_err(), "{text}");
    }
}

#[test]
fn loopback_registries_are_told() {
    for (text, loopback) in [
        ("localhost:5000/a", true),
        ("127.3.2.1/a", true),
        ("[::1]:5000/a", true),
        ("a", false),
        ("10.0.0.1/a", false),
        ("localhost.example/a", false),
    ] {
        let reference: Reference = text.parse().expect(text);
        assert_eq!(is_loopback(reference.registry()), loopback, "{text}");
    }
}
