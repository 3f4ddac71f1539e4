use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{HeaderName, HeaderValue};
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::fixtures::held;
use crate::needle;

/// Splits a text into pieces at these points.
fn pieces(text: &[u8], points: &[Index]) -> Vec<Bytes> {
    let mut ends: Vec<_> = points.iter().map(|at| at.index(text.len() + 1)).collect();
    ends.push(text.len());
    ends.sort_unstable();
    let mut begin = 0;
    ends.into_iter()
        .map(|end| Bytes::copy_from_slice(&text[std::mem::replace(&mut begin, end)..end]))
        .collect()
}

/// Returns the search of a body for these values.
fn scan_for(values: &[Arc<HeldValue>]) -> Scan {
    let mut scan = Scan::default();
    scan.watch(values.to_vec());
    scan
}

/// Returns what a scan passes on of the pieces, and whether it found a value.
fn scan(values: &[Arc<HeldValue>], pieces: &[Bytes]) -> (Vec<u8>, bool) {
    let mut scan = scan_for(values);
    let mut passed = Vec::new();
    for piece in pieces {
        match scan.feed(piece) {
            Ok(bytes) => passed.extend_from_slice(&bytes),
            Err(found) => {
                assert_eq!(scan.feed(&Bytes::from_static(b"x")), Err(found));
                assert!(scan.finish().is_empty());
                return (passed, true);
            }
        }
    }
    passed.extend_from_slice(&scan.finish());
    (passed, false)
}

/// Returns the end of the first needle in a text, found by comparing all of it.
fn first_end(text: &[u8], values: &[Arc<HeldValue>]) -> Option<usize> {
    let needles = values.iter().flat_map(|value| &value.needles);
    let ends = needles.filter_map(|needle| {
        let needle = needle.text();
        let at = text.windows(needle.len()).position(|part| part == needle);
        at.map(|at| at + needle.len())
    });
    ends.min()
}

/// Returns the number of bytes to hold back of a text that comes in one piece.
fn held_of(text: &[u8], values: &[Arc<HeldValue>]) -> usize {
    let needles = values.iter().flat_map(|value| &value.needles);
    let held = needles.map(|needle| {
        let letters = needle.text();
        let is_begin = |length: &usize| text.ends_with(&letters[..*length]);
        let longest = (0..letters.len()).rev().find(is_begin);
        needle.held(longest.unwrap_or(0))
    });
    held.max().unwrap_or(0)
}

/// Bodies that hold parts of the value, and often all of it.
fn body(value: &str) -> impl Strategy<Value = Vec<u8>> + use<> {
    let value = value.as_bytes().to_vec();
    let whole = value.clone();
    let begin = (0..=value.len()).prop_map(move |end| value[..end].to_vec());
    let part = prop_oneof![
        4 => begin,
        2 => "[ab%/]{0,6}".prop_map(String::into_bytes),
        1 => "[cd]{0,80}".prop_map(String::into_bytes),
        1 => Just(whole),
    ];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn a_value_is_found_wherever_the_body_is_split(
        (value, other, text) in ("[ab%/]{8,12}", "[ab]{8,9}").prop_flat_map(|(value, other)| {
            let text = body(&value);
            (Just(value), Just(other), text)
        }),
        points in proptest::collection::vec(any::<Index>(), 0..12),
    ) {
        let values = [held("K", &value), held("L", &other)];
        for values in [&values[..1], &values[..]] {
            let end = first_end(&text, values);
            let (passed, is_found) = scan(values, &pieces(&text, &points));
            prop_assert_eq!(is_found, end.is_some());
            match end {
                None => prop_assert_eq!(&passed, &text),
                Some(end) => {
                    prop_assert!(passed.len() < end && text.starts_with(&passed));
                }
            }
        }
    }

    #[test]
    fn only_the_begin_of_a_needle_is_held_back(
        (value, text) in "[ab%/]{8,12}".prop_flat_map(|value| {
            let text = body(&value);
            (Just(value), text)
        }),
        points in proptest::collection::vec(any::<Index>(), 0..12),
    ) {
        let values = [held("K", &value)];
        let mut scan = scan_for(&values);
        let (mut fed, mut passed) = (0, 0);
        for piece in pieces(&text, &points) {
            fed += piece.len();
            let Ok(bytes) = scan.feed(&piece) else {
                prop_assert!(first_end(&text[..fed], &values).is_some());
                return Ok(());
            };
            passed += bytes.len();
            // The first letters of a begin may be passed on already.
            let (held, of_one_piece) = (fed - passed, held_of(&text[..fed], &values));
            prop_assert!(held <= of_one_piece && of_one_piece <= held + needle::SHOWN_MAX);
        }
    }

    #[test]
    fn encoded_forms_are_found(
        value in "[!-~]{8,60}",
        before in proptest::collection::vec(any::<u8>(), 0..7),
        after in proptest::collection::vec(any::<u8>(), 0..7),
        points in proptest::collection::vec(any::<Index>(), 0..4),
    ) {
        let whole = [before.as_slice(), value.as_bytes(), after.as_slice()].concat();
        let values = [held("K", &value)];
        for form in [
            STANDARD.encode(&whole),
            URL_SAFE_NO_PAD.encode(&whole),
            percent_encoded(&value, "-._~", "%XX"),
            percent_encoded(&value, "-._~", "%xx"),
            percent_encoded(&value, "-._~!'()*", "%XX"),
            percent_encoded(&value, "-._~/", "%XX"),
        ] {
            let text = format!("<{form}>").into_bytes();
            let (_, is_found) = scan(&values, &pieces(&text, &points));
            prop_assert!(is_found, "{}", form);
        }
    }
}

/// Checks that a text is found, wherever it is split.
fn assert_found(value: &str, text: &str) {
    let values = [held("K", value)];
    let body = format!("{{\"echo\": \"Bearer {text}\"}}").into_bytes();
    for split in 0..=body.len() {
        let (first, second) = body.split_at(split);
        let pieces = [
            Bytes::copy_from_slice(first),
            Bytes::copy_from_slice(second),
        ];
        let (passed, is_found) = scan(&values, &pieces);
        assert!(is_found, "{text}, split at {split}");
        assert!(passed.len() < "{\"echo\": \"Bearer ".len() + text.len());
    }
}

#[test]
fn a_value_is_found_as_json_and_html_write_it() {
    // No part of it is long enough to be found by itself.
    let value = r#"k/1+b=2&c<3>d"e'f`gé"#;
    for text in [
        // What JSON demands, and Python.
        r#"k/1+b=2&c<3>d\"e'f`gé"#,
        r#"k/1+b=2&c<3>d\"e'f`g\u00e9"#,
        // PHP.
        r#"k\/1+b=2&c<3>d\"e'f`g\u00e9"#,
        r"k\/1+b=2\u0026c\u003C3\u003Ed\u0022e\u0027f`g\u00e9",
        // Gson, Go and System.Text.Json.
        r#"k/1+b\u003d2\u0026c\u003c3\u003ed\"e\u0027f`gé"#,
        r#"k/1+b=2\u0026c\u003c3\u003ed\"e'f`gé"#,
        r"k/1\u002Bb=2\u0026c\u003C3\u003Ed\u0022e\u0027f\u0060g\u00E9",
        // PHP, Ruby, Jinja, Django, Mustache, and Go's templates.
        "k/1+b=2&amp;c&lt;3&gt;d&quot;e&#039;f`gé",
        "k/1+b=2&amp;c&lt;3&gt;d&quot;e&#39;f`gé",
        "k/1+b=2&amp;c&lt;3&gt;d&#34;e&#39;f`gé",
        "k/1+b=2&amp;c&lt;3&gt;d&quot;e&#x27;f`gé",
        "k&#x2F;1+b&#x3D;2&amp;c&lt;3&gt;d&quot;e&#39;f&#x60;gé",
        "k/1&#43;b=2&amp;c&lt;3&gt;d&#34;e&#39;f`gé",
    ] {
        assert_found(value, text);
    }
    // In Basic, the base64 is what is written.
    let value = "pass?>word";
    assert_found(value, "dTpwYXNzPz53b3Jk");
    assert_found("p?>?>?>?>?>", r"cD8+Pz4\/Pj8+Pz4");
}

#[test]
fn a_long_run_of_a_value_is_found_whatever_is_around_it() {
    let value = "abcd/0123456789abcdef+xyz==";
    for text in [
        r"abcd\/0123456789abcdef+xyz==",
        r"abcd\x2f0123456789abcdef\x2bxyz\x3d\x3d",
        "abcd&sol;0123456789abcdef&plus;xyz&equals;&equals;",
        "0123456789abcdef",
    ] {
        assert_found(value, text);
    }
    let values = [held("K", value)];
    for text in ["0123456789abcde", "abcd/", "+xyz=="] {
        let (_, is_found) = scan(&values, &[Bytes::from_static(text.as_bytes())]);
        assert!(!is_found, "{text}");
    }
}

#[test]
fn the_longest_value_takes_bounded_memory() {
    let max = msb_secrets::VALUE_MAX_BYTES;
    let runs = "0123456789abcdef/".repeat(max / 17);
    for value in ["/".repeat(max), "é".repeat(max / 2), "k".repeat(max), runs] {
        let value = held("K", &value);
        let memory: usize = value.needles.iter().map(Needle::memory_bytes).sum();
        assert!(memory < 1 << 20, "{memory}");
        assert!(value.needles.len() < 40, "{}", value.needles.len());
    }
}

/// Encodes a value as encoders of URLs do that leave some characters in place.
fn percent_encoded(value: &str, left: &str, digits: &str) -> String {
    let encode = |letter: char| {
        if letter.is_ascii_alphanumeric() || left.contains(letter) {
            letter.to_string()
        } else if digits == "%XX" {
            format!("%{:02X}", u32::from(letter))
        } else {
            format!("%{:02x}", u32::from(letter))
        }
    };
    value.chars().map(encode).collect()
}

#[test]
fn a_body_without_a_value_is_passed_on_at_once() {
    let mut scan = scan_for(&[held("K", "abcdefgh")]);
    let event = Bytes::from_static(b"data: 1\n\n");
    let passed = scan.feed(&event).unwrap();
    assert_eq!(passed, event);
    // Not even copied.
    assert_eq!(passed.as_ptr(), event.as_ptr());
    assert_eq!(scan.feed(&Bytes::from_static(b"xabc")).unwrap(), "x");
    assert_eq!(scan.feed(&Bytes::from_static(b"x")).unwrap(), "abcx");
    assert_eq!(scan.feed(&Bytes::from_static(b"abc")).unwrap(), "");
    assert_eq!(scan.finish(), "abc");
    assert!(scan.finish().is_empty());
}

#[test]
fn the_first_letters_of_a_value_are_not_held_back() {
    let mut scan = scan_for(&[held("K", "message-0123456789-and-more")]);
    for text in ["a message that ends with m", "other mes", "mess"] {
        let bytes = Bytes::from_static(text.as_bytes());
        assert_eq!(scan.feed(&bytes).unwrap(), text);
        scan.finish();
    }
    assert_eq!(scan.feed(&Bytes::from_static(b"mess")).unwrap(), "mess");
    assert_eq!(scan.feed(&Bytes::from_static(b"age-0123")).unwrap(), "");
    let rest = Bytes::from_static(b"456789-and-more");
    scan.feed(&rest).unwrap_err();
}

#[test]
fn headers_are_searched_for_values() {
    let watched = Watched::new(vec![held("K", "Secret-Value"), held("L", "other-value")]);
    let check = |name: &'static str, value: &'static str| {
        let name = HeaderName::from_static(name);
        let value = HeaderValue::from_static(value);
        let headers = HeaderMap::from_iter([(name, value)]);
        watched
            .headers(&headers)
            .map_err(|found| found.secret.to_string())
    };
    assert_eq!(check("x-echo", "secret-value"), Ok(()));
    assert_eq!(check("x-echo", "Bearer Secret-Value"), Err("K".to_owned()));
    assert_eq!(check("x-echo", "xother-valuex"), Err("L".to_owned()));
    // A name loses its case.
    assert_eq!(check("x-secret-value", ""), Err("K".to_owned()));
    assert!(watched.text(b"No Secret-Value here").is_err());
    assert!(watched.text(b"OK").is_ok());
}

#[test]
fn a_value_that_comes_later_is_found_from_then_on() {
    let (first, second) = (held("K", "first-value"), held("L", "second-value"));
    let mut scan = scan_for(&[Arc::clone(&first)]);
    let passed = scan.feed(&Bytes::from_static(b"second-value first-va"));
    assert_eq!(passed.unwrap(), "second-value ");
    scan.watch(vec![second, first]);
    // The begin of the first one is still held back.
    let passed = scan.feed(&Bytes::from_static(b"l second-va"));
    assert_eq!(passed.unwrap(), "first-val ");
    let found = scan.feed(&Bytes::from_static(b"lue")).unwrap_err();
    assert_eq!(found.secret.to_string(), "L");
}

#[test]
fn debug_output_shows_no_value() {
    let mut scan = scan_for(&[held("K", "abcdefgh")]);
    scan.feed(&Bytes::from_static(b"abcde")).unwrap();
    let shown = format!("{scan:?}");
    assert!(!shown.contains("abc") && !shown.contains("97"), "{shown}");
}
