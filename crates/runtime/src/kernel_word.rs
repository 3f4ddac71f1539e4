//! Values on the kernel's command line, from which the guest's agent reads them.

use std::fmt::Write as _;

/// Writes a value as one word: bytes that could end it, or separate its parts, become `%` and two hex digits.
pub(crate) fn encode(value: &str) -> String {
    let mut encoded = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-+@".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02x}");
        }
    }
    encoded
}
