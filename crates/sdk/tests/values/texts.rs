//! Text and signals as JSON carries them.

use msb_sdk::{Signal, Text};

#[test]
fn any_bytes_survive_json() {
    let all: Vec<u8> = (0..=255).collect();
    for bytes in [b"plain".to_vec(), "ä\0".as_bytes().to_vec(), all] {
        let text = Text::from(bytes);
        let json = serde_json::to_string(&text).expect("written");
        assert_eq!(serde_json::from_str::<Text>(&json).expect("read"), text);
    }
    assert_eq!(
        serde_json::to_string(&Text::from("a")).expect("written"),
        "\"a\""
    );
    assert!(serde_json::from_str::<Text>(r#"{"bytes":"!"}"#).is_err());
}

#[test]
fn signals_have_names_and_numbers() {
    for (text, number) in [
        ("\"SIGTERM\"", 15),
        ("\"int\"", 2),
        ("9", 9),
        ("\"34\"", 34),
    ] {
        let signal: Signal = serde_json::from_str(text).expect("a signal");
        assert_eq!(signal.number(), number);
    }
    for wrong in ["0", "65", "\"SIGNONE\"", "-1"] {
        assert!(serde_json::from_str::<Signal>(wrong).is_err(), "{wrong}");
    }
}
