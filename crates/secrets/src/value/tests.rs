use proptest::prelude::*;
use zeroize::ZeroizeOnDrop;

use super::*;
use crate::{ControlRequest, ResolvedSecret, Secret};

/// A value whose parts no other text of this crate has.
const CANARY: &str = "hunter22-hunter22";

#[test]
fn values_are_one_line_of_text() {
    let longest = "a".repeat(VALUE_MAX_BYTES);
    for text in [
        "sk-ant-0123",
        "ab cd ef",
        "éééé",
        "\"\\\"\\\"\\\"\\",
        &longest,
    ] {
        assert_eq!(SecretValue::new(text).unwrap().expose(), text);
    }
    let too_long = "a".repeat(VALUE_MAX_BYTES + 1);
    for (text, expected) in [
        ("", InvalidValue::Empty),
        ("a\n", InvalidValue::Control),
        ("a\r\nX: b", InvalidValue::Control),
        ("a\tb", InvalidValue::Control),
        ("a\0", InvalidValue::Control),
        ("\u{7f}", InvalidValue::Control),
        ("\u{85}", InvalidValue::Control),
        (" a", InvalidValue::Space),
        ("a ", InvalidValue::Space),
        (too_long.as_str(), InvalidValue::TooLong),
        ("a", InvalidValue::TooShort),
        ("1234567", InvalidValue::TooShort),
        ("ééé", InvalidValue::TooShort),
    ] {
        assert_eq!(
            SecretValue::new(text).map(|_| ()),
            Err(expected),
            "{text:?}"
        );
    }
}

#[test]
fn values_are_compared_whole() {
    let value = |text: &str| SecretValue::new(text).unwrap();
    let one = value("abcdefghi");
    assert_eq!(one, value("abcdefghi"));
    assert_eq!(one, one.clone());
    for other in ["abcdefghx", "abcdefgh", "abcdefghij", "xbcdefghi"] {
        assert_ne!(one, value(other));
    }
}

#[test]
fn memory_of_a_value_is_overwritten() {
    fn is_overwritten<T: ZeroizeOnDrop>(_: &T) {}
    let value = SecretValue::new(CANARY).unwrap();
    is_overwritten::<Zeroizing<String>>(&value.0);
}

#[test]
fn nothing_that_holds_a_value_shows_it() {
    let value = SecretValue::new(CANARY).unwrap();
    let mut secret: Secret = "K@h.example".parse().unwrap();
    secret.from = crate::SecretSource::Given;
    secret.value = Some(value.clone());
    let name = secret.name.clone();
    let resolved = ResolvedSecret {
        name: name.clone(),
        value: value.clone(),
    };
    let request = ControlRequest::Set {
        name,
        value: value.clone(),
        expires_ms: None,
    };
    let shown = [
        format!("{value:?} {value:#?}"),
        format!("{secret:?} {secret:#?} {secret}"),
        serde_json::to_string(&secret).unwrap(),
        serde_json::to_value(&secret).unwrap().to_string(),
        format!("{resolved:?} {request:?} {request:#?}"),
    ];
    for text in shown {
        assert!(!text.contains("hunter22"), "{text}");
    }
    assert_eq!(format!("{value:?}"), "…");
}

#[test]
fn an_error_of_a_parser_does_not_show_the_value() {
    let object =
        |value: &str| format!("{{\"name\":\"K\",\"to\":[\"h.example\"],\"value\":{value}}}");
    let read: Secret = serde_json::from_str(&object("\"hunter22\"")).unwrap();
    assert_eq!(read.value.unwrap().expose(), "hunter22");
    for value in [
        "1234567",
        "-1234567",
        "1234567.5",
        "1234567e3",
        "true1234567",
        "[1234567]",
        "{\"1234567\":1}",
        "\"1234567\\n\"",
        "\" 1234567\"",
        "\"1234567",
        "\"1234567\\q\"",
        "\"1234567\\ud800\"",
    ] {
        for error in [
            serde_json::from_str::<SecretValue>(value).unwrap_err(),
            serde_json::from_str::<Secret>(&object(value)).unwrap_err(),
            ControlRequest::parse(
                format!("{{\"set\":{{\"name\":\"K\",\"value\":{value}}}}}").as_bytes(),
            )
            .unwrap_err(),
        ] {
            let text = format!("{error} {error:?}");
            assert!(!text.contains("234567"), "{value}: {text}");
        }
    }
    let error = serde_json::from_str::<SecretValue>("true").unwrap_err();
    assert!(error.to_string().contains("must be a string"), "{error}");
    serde_json::from_str::<SecretValue>("null").unwrap_err();
}

proptest! {
    #[test]
    fn no_text_panics_and_each_is_kept_or_refused(text in "(\\PC|[\n\r\t\0 ]){0,40}") {
        let is_valid = text.len() >= VALUE_MIN_BYTES && !text.chars().any(char::is_control) && text.trim_matches(' ') == text;
        let value = SecretValue::new(text.clone());
        prop_assert_eq!(value.is_ok(), is_valid);
        if let Ok(value) = value {
            prop_assert_eq!(value.expose(), text.as_str());
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(serde_json::from_str::<SecretValue>(&json).unwrap(), value);
        }
    }
}
