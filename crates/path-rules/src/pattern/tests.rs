use super::*;

fn pattern(text: &str) -> Pattern {
    text.parse().expect(text)
}

#[test]
fn a_pattern_matches_as_in_gitignore() {
    for (text, path, is_matched) in [
        (".env", ".env", true),
        (".env", "a/b/.env", true),
        (".env", "a/.env/b", false),
        (".env", ".environment", false),
        ("*.pem", "a/b/x.pem", true),
        ("*.pem", ".pem", true),
        ("*.pem", "x.pem.txt", false),
        ("build/", "build", true),
        ("build/", "a/build", true),
        ("/build", "build", true),
        ("/build", "a/build", false),
        ("/build/", "a/build", false),
        ("./build", "build", true),
        ("./build", "a/build", false),
        ("a/b", "a/b", true),
        ("a/b", "x/a/b", false),
        ("a//./b", "a/b", true),
        ("a/b", "./a//b/", true),
        ("a/*", "a/b", true),
        ("a/*", "a", false),
        ("a/*", "a/b/c", false),
        ("a/**", "a", false),
        ("a/**", "a/b/c", true),
        ("**", "a", true),
        ("**", "a/b", true),
        ("**", "", false),
        ("**/x", "x", true),
        ("**/x", "a/b/x", true),
        ("**/a/x", "a/x", true),
        ("**/a/x", "b/c/a/x", true),
        ("**/a/x", "b/x", false),
        ("a/**/z", "a/z", true),
        ("a/**/z", "a/b/c/z", true),
        ("a/**/**/z", "a/z", true),
        ("a/**/z", "a/z/y", false),
        ("a/**/z/**/q", "a/z/z/q", true),
        ("/", "", true),
        (".", "", true),
        ("/", "a", false),
        ("*", "a/b", true),
        ("/*", "a/b", false),
        ("app/[id]", "app/[id]", true),
        ("app/[id]", "app/i", false),
        (r"a\*", r"a\bc", true),
        ("a**b", "a/xb", false),
        ("a**b", "axyb", true),
    ] {
        let found = pattern(text).matches(path.as_bytes());
        assert_eq!(found, is_matched, "{text} {path}");
    }
}

#[test]
fn a_question_mark_is_a_character() {
    for (text, name, is_matched) in [
        ("?", &b"a"[..], true),
        ("?", "é".as_bytes(), true),
        ("?", "🦀".as_bytes(), true),
        ("??", "é".as_bytes(), false),
        ("*??", "é".as_bytes(), false),
        ("*?", "aé".as_bytes(), true),
        ("?", b"\xe9", true),
        ("a?b", b"a\xffb", true),
        ("??", b"\xf0\x9f", true),
        ("?", b"", false),
        ("caf\u{e9}", "caf\u{e9}".as_bytes(), true),
    ] {
        assert_eq!(pattern(text).matches(name), is_matched, "{text} {name:?}");
    }
    let literal = Pattern::parse(b"caf\xe9*").expect("bytes");
    assert!(literal.matches(b"a/caf\xe9.txt"));
    assert!(!literal.matches("a/café.txt".as_bytes()));
}

#[test]
fn a_pattern_over_a_limit_or_out_of_the_directory_is_refused() {
    let long = "x".repeat(PATTERN_MAX_BYTES + 1);
    let deep = "a/".repeat(PATTERN_MAX_NAMES + 1);
    let wild = "*a".repeat(PATTERN_MAX_WILDCARDS + 1);
    for (text, part) in [
        ("", "empty"),
        ("..", "'..'"),
        ("a/../b", "'..'"),
        ("/..", "'..'"),
        ("a\0b", "NUL"),
        (&long, "4097 bytes, the limit is 4096"),
        (&deep, "129 names, the limit is 128"),
        (&wild, "33 wildcards, the limit is 32"),
    ] {
        let error = text.parse::<Pattern>().expect_err(part);
        let message = error.to_string();
        assert!(message.contains(part) && message.len() < 300, "{message}");
        assert_eq!(error.diagnosis().kind(), ErrorKind::InvalidArgument);
    }
    for text in [
        "x".repeat(PATTERN_MAX_BYTES),
        "a/".repeat(PATTERN_MAX_NAMES),
        "*a".repeat(PATTERN_MAX_WILDCARDS),
        "...".to_owned(),
        "a..b".to_owned(),
    ] {
        pattern(&text);
    }
}

#[test]
fn a_hostile_name_is_matched_in_bounded_time() {
    let stars = "a*".repeat(PATTERN_MAX_WILDCARDS);
    let name = [b'a'; 4000];
    // Exponential matching would not end.
    assert!(!pattern(&format!("{stars}b")).matches(&name));
    let names = "**/a/".repeat(PATTERN_MAX_WILDCARDS);
    let path = "a/".repeat(2000);
    assert!(!pattern(&format!("{names}b")).matches(path.as_bytes()));
    assert!(pattern(&format!("{names}a")).matches(path.as_bytes()));
}

#[test]
fn any_pattern_survives_json() {
    for text in [
        &b"a/*.md"[..],
        "d\u{e9}j\u{e0}".as_bytes(),
        b"caf\xe9",
        b".",
    ] {
        let pattern = Pattern::parse(text).expect("a pattern");
        let json = serde_json::to_string(&pattern).expect("written");
        let read: Pattern = serde_json::from_str(&json).expect("read");
        assert_eq!(read, pattern);
        assert_eq!(read.as_bytes(), text);
    }
    for json in ["\"\"", "\"../a\"", r#"{"bytes":"!"}"#, "7"] {
        assert!(serde_json::from_str::<Pattern>(json).is_err(), "{json}");
    }
}
