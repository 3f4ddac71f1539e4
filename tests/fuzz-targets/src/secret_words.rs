//! The words about secrets: the option `--secret`, the object of the SDKs, and the lines of the control socket.

use std::fmt::Write as _;

use msb_secrets::{ControlAnswer, ControlRequest, Secret, SecretValue};

use crate::bounded::Bounded;

/// The longest error about an option, in bytes. It is printed, and holds no more of an option than that.
const ERROR_MAX_BYTES: usize = 2 << 10;
/// A value that no input has.
const OTHER: &str = "another value than any input has";

/// Reads bytes as each of them.
///
/// # Panics
/// If a secret is written and read as another one, or what is shown of a secret depends on its value.
pub fn run(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        option(text);
    }
    if let Ok(secret) = serde_json::from_slice::<Secret>(bytes) {
        object(&secret);
    }
    if let Ok(request) = ControlRequest::parse(bytes) {
        shown_without_value(&request);
    }
    if let Ok(answer) = serde_json::from_slice::<ControlAnswer>(bytes) {
        let line = answer.line().expect("an answer can be written");
        let ends = line.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(ends, 1, "an answer is one line");
        let again = serde_json::from_slice::<ControlAnswer>(&line);
        assert_eq!(again.expect("it was just written"), answer);
    }
}

/// Reads an argument of `--secret`.
fn option(text: &str) {
    match text.parse::<Secret>() {
        Ok(secret) => {
            let again = secret.to_string().parse::<Secret>();
            assert_eq!(again.as_ref(), Ok(&secret));
            assert!(secret.value.is_none() && secret.placeholder.is_none());
            object(&secret);
        }
        Err(error) => {
            let shown = write!(Bounded(ERROR_MAX_BYTES), "{error}");
            shown.expect("an error is short");
            let message = error.to_string();
            assert!(!message.contains(char::is_control), "{message:?}");
        }
    }
}

/// Writes a secret, and compares what is shown with what is shown of one with another value.
fn object(secret: &Secret) {
    let other = Secret {
        value: secret.value.as_ref().map(|_| other_value()),
        ..secret.clone()
    };
    assert_eq!(format!("{secret:?}"), format!("{other:?}"));
    let written = serde_json::to_string(secret).expect("a secret can be written");
    let of_other = serde_json::to_string(&other).expect("a secret can be written");
    assert_eq!(written, of_other);
    let again = serde_json::from_str::<Secret>(&written);
    let expected = Secret {
        value: None,
        ..secret.clone()
    };
    assert_eq!(again.expect("it was just written"), expected);
}

fn shown_without_value(request: &ControlRequest) {
    let ControlRequest::Set {
        name, expires_ms, ..
    } = request
    else {
        return;
    };
    let other = ControlRequest::Set {
        name: name.clone(),
        value: other_value(),
        expires_ms: *expires_ms,
    };
    assert_eq!(format!("{request:?}"), format!("{other:?}"));
}

fn other_value() -> SecretValue {
    SecretValue::new(OTHER).expect("a value")
}
