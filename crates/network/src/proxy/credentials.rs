use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use zeroize::Zeroizing;

/// The longest user, and the longest password (RFC 1929).
const PART_MAX_BYTES: usize = 255;

/// A user and a password for a proxy. They are not printed, and their memory is overwritten.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    user: Zeroizing<Vec<u8>>,
    password: Zeroizing<Vec<u8>>,
}

impl Credentials {
    /// Parses `USER[:PASSWORD]` of a URL, whose bytes may be percent-encoded. `None` if a part is too long, or the user
    /// is empty or has a colon.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (user, password) = text.split_once(':').unwrap_or((text, ""));
        let decode = |text| Zeroizing::new(percent_decode_str(text).collect::<Vec<u8>>());
        let (user, password) = (decode(user), decode(password));
        let is_short = |part: &[u8]| part.len() <= PART_MAX_BYTES;
        let is_valid = !user.is_empty() && !user.contains(&b':') && is_short(&user);
        (is_valid && is_short(&password)).then_some(Self { user, password })
    }

    /// Returns the value of a header `Proxy-Authorization` (RFC 7617).
    pub(super) fn basic(&self) -> Zeroizing<String> {
        let both = Zeroizing::new([&self.user[..], b":", &self.password[..]].concat());
        let encoded = Zeroizing::new(STANDARD.encode(&*both));
        Zeroizing::new(["Basic ", encoded.as_str()].concat())
    }

    /// Returns the request for a user and a password of SOCKS5 (RFC 1929, section 2).
    pub(super) fn socks(&self) -> Zeroizing<Vec<u8>> {
        let length = |part: &[u8]| u8::try_from(part.len()).unwrap_or(u8::MAX);
        let mut request = Zeroizing::new(Vec::with_capacity(3 + 2 * PART_MAX_BYTES));
        request.push(1);
        for part in [&self.user, &self.password] {
            request.push(length(part));
            request.extend_from_slice(part);
        }
        request
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_and_a_password_are_decoded_and_not_printed() {
        let credentials = Credentials::parse("a%40b:p%3Aw").unwrap();
        // "a@b:p:w"
        assert_eq!(*credentials.basic(), "Basic YUBiOnA6dw==");
        assert_eq!(*credentials.socks(), b"\x01\x03a@b\x03p:w");
        assert_eq!(format!("{credentials:?}"), "Credentials(…)");
        let long = "a".repeat(256);
        for text in ["", ":p", "a%3Ab:p", &long] {
            assert_eq!(Credentials::parse(text), None, "{text}");
        }
    }
}
