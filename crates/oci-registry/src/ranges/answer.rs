use std::ops::Range;

use reqwest::header::{ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_RANGE, HeaderName};
use reqwest::{Response, StatusCode};

use crate::requested_bytes::Validator;
use crate::transport::header;

/// A `Content-Range` header (RFC 9110, section 14.4).
#[derive(Debug, PartialEq, Eq)]
struct ContentRange {
    range: Range<u64>,
    /// Length of the whole object; `None` if the server does not say it.
    object_bytes: Option<u64>,
}

/// Returns the end of the bytes in a response to a request for the range `wanted` of a blob. `None`
/// if it has other bytes, or may have: it is not a part, begins elsewhere, is encoded, contradicts
/// itself, or is a part of another object.
///
/// A server may send fewer bytes than it is asked for.
pub(crate) fn end_of_answer(
    response: &Response,
    blob_bytes: u64,
    wanted: &Range<u64>,
    validator: Option<&Validator>,
) -> Option<u64> {
    let headers = response.headers();
    let is = |name: HeaderName, text: &str| {
        let value = headers.get(name);
        value.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(text.as_bytes()))
    };
    let is_encoded = headers.contains_key(CONTENT_ENCODING) && !is(CONTENT_ENCODING, "identity");
    if response.status() != StatusCode::PARTIAL_CONTENT || is_encoded || is(ACCEPT_RANGES, "none") {
        return None;
    }
    let ContentRange {
        range,
        object_bytes,
    } = ContentRange::parse(header(headers, CONTENT_RANGE.as_str())?)?;
    let is_wanted = range.start == wanted.start && range.end <= wanted.end;
    let has_its_length = response
        .content_length()
        .is_none_or(|length| length == range.end - range.start);
    let is_same_object = match (validator, Validator::from_headers(headers)) {
        (Some(expected), Some(actual)) => *expected == actual,
        _ => true,
    };
    let is_blob = object_bytes == Some(blob_bytes) && is_same_object;
    (is_wanted && has_its_length && is_blob).then_some(range.end)
}

impl ContentRange {
    /// Parses a header such as `bytes 5-9/10`; `None` if it is not one.
    fn parse(text: &str) -> Option<Self> {
        let (range, object) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let (start, end) = (number(first)?, number(last)?.checked_add(1)?);
        let object_bytes = match object {
            "*" => None,
            object => Some(number(object)?),
        };
        let is_possible = start < end && object_bytes.is_none_or(|object| end <= object);
        is_possible.then_some(Self {
            range: start..end,
            object_bytes,
        })
    }
}

/// Parses a number that consists of digits alone.
fn number(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_ranges_are_read_strictly() {
        let range = |range: Range<u64>, object_bytes| {
            Some(ContentRange {
                range,
                object_bytes,
            })
        };
        let largest = format!("bytes 0-{}/{}", u64::MAX - 1, u64::MAX);
        for (text, expected) in [
            ("bytes 0-0/1", range(0..1, Some(1))),
            (" bytes 5-9/10 ", range(5..10, Some(10))),
            ("bytes 5-9/*", range(5..10, None)),
            (largest.as_str(), range(0..u64::MAX, Some(u64::MAX))),
            ("bytes 0-18446744073709551615/*", None),
            ("bytes 5-4/10", None),
            ("bytes 5-10/10", None),
            ("bytes */10", None),
            ("bytes 5-/10", None),
            ("bytes -5/10", None),
            ("bytes +5-9/10", None),
            ("bytes 5-9", None),
            ("bytes 5-9/", None),
            ("bytes 5-9/10, 10-11/20", None),
            ("items 5-9/10", None),
            ("", None),
        ] {
            assert_eq!(ContentRange::parse(text), expected, "{text}");
        }
    }
}
