//! The answer of a host that sends the value of a secret back, in any form and in any pieces.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use msb_secrets::SecretValue;
use msb_tls_edge::fuzzing;

/// Values: of one run of characters, with characters that encoders replace, and of one character.
const VALUES: [&str; 4] = [
    "v4lue+0123456789/abcdef",
    "pa\"ss<w\u{f6}&r d'=",
    "sk-ant-0123456789abcdef",
    "aaaaaaaa",
];
/// Bytes of a script from this one on are instructions; others stand for themselves.
const INSTRUCTIONS: u8 = 0xf0;

/// A body, as a script makes it.
#[derive(Default)]
struct Body {
    bytes: Vec<u8>,
    /// The positions at which a piece ends.
    ends: Vec<usize>,
    /// True if a whole form of the value was put into it.
    has_value: bool,
}

/// Searches the body that the bytes describe.
///
/// # Panics
/// If the value passes, or a body is changed or withheld that does not hold it.
pub fn run(bytes: &[u8]) {
    let Some((&choice, script)) = bytes.split_first() else {
        return;
    };
    let value = VALUES[usize::from(choice) % VALUES.len()];
    let body = Body::of_script(script, value);
    let name = "KEY".parse().expect("a name");
    let secret = SecretValue::new(value).expect("a value");
    let (passed, is_found) = fuzzing::search(name, secret, &body.pieces());
    assert!(body.bytes.starts_with(&passed), "the body is another one");
    assert!(!fuzzing::shows(value, &passed), "the value is passed on");
    assert!(is_found || !body.has_value, "the value is not found");
    assert_eq!(is_found, fuzzing::shows(value, &body.bytes));
    assert!(is_found || passed == body.bytes, "a part is withheld");
}

impl Body {
    fn of_script(script: &[u8], value: &str) -> Self {
        let mut body = Self::default();
        let mut script = script.iter().copied();
        while let Some(byte) = script.next() {
            if byte < INSTRUCTIONS {
                body.bytes.push(byte);
                continue;
            }
            let number = usize::from(script.next().unwrap_or(0));
            body.carry_out(byte - INSTRUCTIONS, number, value);
        }
        body
    }

    fn carry_out(&mut self, instruction: u8, number: usize, value: &str) {
        let form = match instruction & 7 {
            // A piece ends within what follows.
            0 => {
                self.ends.push(self.bytes.len() + number);
                return;
            }
            // The begin of the value.
            1 => {
                let begin = &value.as_bytes()[..number % value.len()];
                self.bytes.extend_from_slice(begin);
                return;
            }
            2 => value.as_bytes().to_vec(),
            3 => STANDARD.encode(surrounded(number, value)).into_bytes(),
            4 => URL_SAFE_NO_PAD
                .encode(surrounded(number, value))
                .into_bytes(),
            5 => percent_encoded(value, number.is_multiple_of(2)),
            _ => {
                let quoted = serde_json::to_string(value).expect("a text is JSON");
                quoted.trim_matches('"').as_bytes().to_vec()
            }
        };
        self.bytes.extend(form);
        self.has_value = true;
    }

    /// Returns the pieces in which the body arrives.
    fn pieces(&self) -> Vec<&[u8]> {
        let length = self.bytes.len();
        let mut ends: Vec<usize> = self.ends.iter().map(|end| *end.min(&length)).collect();
        ends.push(length);
        ends.sort_unstable();
        let mut begin = 0;
        let mut pieces = Vec::new();
        for end in ends {
            pieces.push(&self.bytes[begin..end]);
            begin = end;
        }
        pieces
    }
}

/// Returns the value with up to two bytes before and behind it.
fn surrounded(number: usize, value: &str) -> Vec<u8> {
    let (before, behind) = (number % 3, number / 3 % 3);
    [&b".."[..before], value.as_bytes(), &b".."[..behind]].concat()
}

fn percent_encoded(value: &str, is_upper: bool) -> Vec<u8> {
    let mut text = Vec::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(byte);
        } else if is_upper {
            text.extend(format!("%{byte:02X}").into_bytes());
        } else {
            text.extend(format!("%{byte:02x}").into_bytes());
        }
    }
    text
}
