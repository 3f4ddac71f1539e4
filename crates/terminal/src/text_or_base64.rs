//! Bytes as JSON: text where they are text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Returns the bytes as text, or otherwise in base64.
pub fn text_or_base64(bytes: &[u8]) -> (Option<String>, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(STANDARD.encode(bytes))),
    }
}
