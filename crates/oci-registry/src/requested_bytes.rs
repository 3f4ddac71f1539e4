use std::ops::Range;

use reqwest::header::{ETAG, HeaderMap, HeaderValue, IF_RANGE, RANGE};

/// Longest entity tag that is sent back, in bytes.
const VALIDATOR_MAX_BYTES: usize = 1024;

/// The bytes of an object that a request asks for.
#[derive(Debug, Clone)]
pub(super) enum RequestedBytes {
    /// The whole object.
    All,
    /// This byte and all behind it.
    From(u64),
    /// A range, unless the object has changed since it had this validator.
    Range(Range<u64>, Option<Validator>),
}

/// A strong entity tag (RFC 9110, section 8.8.3), by which a server knows an object again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Validator(HeaderValue);

impl RequestedBytes {
    /// Returns the bytes from a position on; the whole object if it is 0.
    pub(super) const fn starting_at(position_bytes: u64) -> Self {
        if position_bytes == 0 {
            Self::All
        } else {
            Self::From(position_bytes)
        }
    }

    /// Adds the headers that ask for these bytes (RFC 9110, sections 14.2 and 13.1.5).
    pub(super) fn add_to(&self, headers: &mut HeaderMap) {
        let (range, validator) = match self {
            Self::All => return,
            Self::From(first) => (format!("bytes={first}-"), None),
            Self::Range(range, validator) => {
                let last = range.end.saturating_sub(1);
                (format!("bytes={}-{last}", range.start), validator.as_ref())
            }
        };
        let range = HeaderValue::from_str(&range).expect("digits are text");
        headers.insert(RANGE, range);
        headers.extend(validator.map(|validator| (IF_RANGE, validator.0.clone())));
    }
}

impl Validator {
    /// Returns the validator in a response's headers; `None` if they have no strong one.
    pub(super) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(ETAG)?;
        let text = value.as_bytes();
        let is_strong = text.len() >= 2 && text.starts_with(b"\"") && text.ends_with(b"\"");
        (is_strong && text.len() <= VALIDATOR_MAX_BYTES).then(|| Self(value.clone()))
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderName;

    use super::*;

    fn validator(tag: &str) -> Option<Validator> {
        let tag = HeaderValue::from_str(tag).expect("a header");
        Validator::from_headers(&HeaderMap::from_iter([(ETAG, tag)]))
    }

    #[test]
    fn requests_have_the_headers_of_their_bytes() {
        let texts = |bytes: RequestedBytes| {
            let mut headers = HeaderMap::new();
            bytes.add_to(&mut headers);
            let text =
                |name: HeaderName| headers.get(name).map(|value| value.to_str().expect("text"));
            (
                text(RANGE).map(str::to_owned),
                text(IF_RANGE).map(str::to_owned),
            )
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(texts(RequestedBytes::starting_at(0)), (None, None));
        let later = RequestedBytes::starting_at(7);
        assert_eq!(texts(later), (some("bytes=7-"), None));
        let range = RequestedBytes::Range(5..10, None);
        assert_eq!(texts(range), (some("bytes=5-9"), None));
        let range = RequestedBytes::Range(0..1, validator("\"a\""));
        assert_eq!(texts(range), (some("bytes=0-0"), some("\"a\"")));
    }

    #[test]
    fn only_strong_tags_are_validators() {
        assert!(validator("\"\"").is_some());
        let longest = format!("\"{}\"", "a".repeat(VALIDATOR_MAX_BYTES - 2));
        assert!(validator(&longest).is_some());
        for tag in ["W/\"a\"", "\"", "a", "", &format!("{longest}\"")] {
            assert!(validator(tag).is_none(), "{tag}");
        }
        assert!(Validator::from_headers(&HeaderMap::new()).is_none());
    }
}
