use proptest::prelude::*;

use super::*;
use crate::path_pattern::{InvalidPathPattern, PathPattern};

#[test]
fn a_plain_path_is_decoded_once() {
    for (raw, decoded) in [
        ("/", "/"),
        ("/v1/messages", "/v1/messages"),
        ("/v1/messages/", "/v1/messages/"),
        ("/v1/%6Dessages", "/v1/messages"),
        ("/a%20b", "/a b"),
        ("/%C3%A9", "/é"),
        ("/é", "/é"),
        (
            "/v1beta/models/x:generateContent",
            "/v1beta/models/x:generateContent",
        ),
        ("/pkg.Service/Method", "/pkg.Service/Method"),
        ("/.well-known/a", "/.well-known/a"),
        ("/a/...", "/a/..."),
        ("/100%25", "/100%"),
        ("/100%25zz", "/100%zz"),
        ("/a%3Fb%23", "/a?b#"),
    ] {
        assert_eq!(checked_path(raw).as_deref(), Ok(decoded), "{raw}");
    }
}

#[test]
fn paths_that_servers_read_differently_are_refused() {
    let longest = format!("/{}", "a".repeat(PATH_MAX_BYTES - 1));
    let too_long = format!("{longest}a");
    assert!(checked_path(&longest).is_ok());
    for (raw, expected) in [
        ("", InvalidPath::Relative),
        ("*", InvalidPath::Relative),
        ("v1", InvalidPath::Relative),
        ("https://h/v1", InvalidPath::Relative),
        ("/v1?x", InvalidPath::Query),
        ("/v1#x", InvalidPath::Query),
        ("/v1/%", InvalidPath::Escape),
        ("/v1/%2", InvalidPath::Escape),
        ("/v1/%zz", InvalidPath::Escape),
        ("/v1/%+1", InvalidPath::Escape),
        ("/v1/%é", InvalidPath::Escape),
        ("/v1%2fx", InvalidPath::Slash),
        ("/v1%2Fx", InvalidPath::Slash),
        ("/v1\\x", InvalidPath::Slash),
        ("/v1%5cx", InvalidPath::Slash),
        ("/v1%5C..", InvalidPath::Slash),
        ("/v1/..;/x", InvalidPath::Parameter),
        ("/v1/%3b", InvalidPath::Parameter),
        ("//v1", InvalidPath::Segment),
        ("//", InvalidPath::Segment),
        ("/v1//x", InvalidPath::Segment),
        ("/v1//", InvalidPath::Segment),
        ("/.", InvalidPath::Segment),
        ("/./", InvalidPath::Segment),
        ("/..", InvalidPath::Segment),
        ("/v1/../x", InvalidPath::Segment),
        ("/v1/./x", InvalidPath::Segment),
        ("/v1/%2e%2e/x", InvalidPath::Segment),
        ("/v1/.%2E/x", InvalidPath::Segment),
        ("/v1/%2e", InvalidPath::Segment),
        ("/v1\n", InvalidPath::Control),
        ("/v1%0d%0aHost:", InvalidPath::Control),
        ("/v1%00", InvalidPath::Control),
        ("/v1%c2%85", InvalidPath::Control),
        ("/v1/%ff", InvalidPath::NotText),
        ("/v1/%c0%ae%c0%ae/x", InvalidPath::NotText),
        ("/v1/%252e%252e/x", InvalidPath::EncodedTwice),
        ("/v1/%25%32%65", InvalidPath::EncodedTwice),
        ("/v1%252fx", InvalidPath::EncodedTwice),
        (too_long.as_str(), InvalidPath::TooLong),
    ] {
        assert_eq!(checked_path(raw), Err(expected), "{raw}");
    }
}

#[test]
fn a_pattern_is_a_path_or_its_beginning() {
    let matches = |pattern: &str, path: &str| {
        let pattern: PathPattern = pattern.parse().unwrap();
        pattern.matches(&checked_path(path).unwrap())
    };
    assert!(matches("/v1/*", "/v1/") && matches("/v1/*", "/v1/a/b"));
    assert!(!matches("/v1/*", "/v1") && !matches("/v1/*", "/v2/") && !matches("/v1/*", "/V1/"));
    assert!(matches("/v1*", "/v1") && matches("/v1*", "/v10"));
    assert!(matches("/*", "/") && matches("/*", "/a"));
    assert!(matches("/v1", "/v1") && !matches("/v1", "/v1/") && !matches("/v1", "/v1a"));
    assert!(matches("/a%20b", "/a%20b") && matches("/%61", "/a") && matches("/a", "/%61"));
    assert!(matches("/a%2Ab", "/a*b") && !matches("/a%2A", "/ab"));
}

#[test]
fn patterns_that_no_path_matches_are_refused() {
    let long = format!("/{}", "a".repeat(1024));
    for text in [
        "", "*", "v1/*", "/v1/../*", "/v1//", "/a;b", "/a%2fb", "/a?b", "/a\\b", "/a%", "/a%2541",
        &long,
    ] {
        text.parse::<PathPattern>().expect_err(text);
    }
    for text in ["/*/a", "/a**", "/a*b*"] {
        let refused = text.parse::<PathPattern>();
        assert!(
            matches!(refused, Err(InvalidPathPattern::Wildcard { .. })),
            "{text}: {refused:?}"
        );
    }
}

/// Resolves a path as a server does that decodes it `times` times, takes a backslash for a slash, cuts
/// parameters off and merges slashes.
fn resolved_carelessly(raw: &str, times: usize) -> String {
    let mut bytes = raw.as_bytes().to_vec();
    for _ in 0..times {
        bytes = decoded_carelessly(&bytes);
    }
    let text = String::from_utf8_lossy(&bytes).replace('\\', "/");
    let mut names: Vec<&str> = Vec::new();
    for segment in text.split('/') {
        let name = segment.split(';').next().unwrap_or_default();
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

fn decoded_carelessly(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::new();
    let mut rest = bytes;
    while let Some((first, behind)) = rest.split_first() {
        let digits = (*first == b'%').then(|| behind.get(..2)).flatten();
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                decoded.push(byte);
                rest = &behind[2..];
            }
            None => {
                decoded.push(*first);
                rest = behind;
            }
        }
    }
    decoded
}

fn tricky_path() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "/", "/v1/", "v1", "x", ".", "..", "%2e", "%2E", "%2f", "%5c", "\\", ";", "%3b", "%",
        "%25", "%252e", "2e", "2f", "%00", "é", "%c3%a9", "%c0%ae", "?", "#", "*", " ", ":",
    ]);
    prop::collection::vec(part, 0..10).prop_map(|parts| format!("/v1/{}", parts.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_path_that_is_allowed_stays_below_its_rule_for_every_server(raw in tricky_path(), times in 0_usize..4) {
        let pattern: PathPattern = "/v1/*".parse().unwrap();
        if let Ok(checked) = checked_path(&raw) {
            prop_assert!(pattern.matches(&checked));
            let resolved = resolved_carelessly(&raw, times);
            prop_assert!(resolved == "/v1" || resolved.starts_with("/v1/"), "{} is {}", raw, resolved);
        }
    }

    #[test]
    fn no_text_panics_and_what_is_decoded_needs_no_decoding(raw in "\\PC{0,30}|/[/.%a-f0-9;]{0,20}") {
        if let Ok(checked) = checked_path(&raw) {
            prop_assert_eq!(decoded_carelessly(checked.as_bytes()), checked.as_bytes());
        }
    }

    #[test]
    fn a_pattern_is_written_as_it_is_read(text in "/([a-zA-Z:,.%*#é ]|%(2[0-9A-E]|3[0-9a-f]|[46][0-9a-f])){0,20}[*]?") {
        if let Ok(pattern) = text.parse::<PathPattern>() {
            prop_assert_eq!(pattern.to_string().parse::<PathPattern>(), Ok(pattern));
        }
    }
}
