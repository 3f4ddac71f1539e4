//! The user and the password of `Authorization: Basic`.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::HeaderValue;
use zeroize::Zeroizing;

/// Clients leave the padding out or in, and servers take both.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

const COLON: u8 = b':';

/// The user and the password of a request.
pub(super) struct Credentials {
    /// The scheme as the client wrote it, with the spaces after it.
    scheme: Vec<u8>,
    text: Zeroizing<Vec<u8>>,
    colon: usize,
}

impl Credentials {
    /// Returns the credentials of a header's value; `None` if it has another scheme, or is malformed.
    pub(super) fn of(value: &HeaderValue) -> Option<Self> {
        let value = value.as_bytes();
        let end = value.iter().position(|byte| *byte == b' ')?;
        let (scheme, rest) = value.split_at(end);
        if !scheme.eq_ignore_ascii_case(b"basic") {
            return None;
        }
        let encoded = rest.trim_ascii_start();
        let text = Zeroizing::new(BASE64.decode(encoded).ok()?);
        let colon = text.iter().position(|byte| *byte == COLON)?;
        let (scheme, _) = value.split_at(value.len() - encoded.len());
        Some(Self {
            scheme: scheme.to_vec(),
            text,
            colon,
        })
    }

    /// Returns the user.
    pub(super) fn user(&self) -> &[u8] {
        let (user, _) = self.text.split_at(self.colon);
        user
    }

    /// Returns the password.
    pub(super) fn password(&self) -> &[u8] {
        let (_, password) = self.text.split_at(self.colon + 1);
        password
    }

    /// Returns the user, a colon and the password.
    pub(super) fn both(&self) -> &[u8] {
        &self.text
    }

    /// Replaces the user; `None` if a server would take a part of it for the password.
    pub(super) fn set_user(&mut self, user: &str) -> Option<()> {
        if user.as_bytes().contains(&COLON) {
            return None;
        }
        let text = joined(user.as_bytes(), self.password());
        (self.text, self.colon) = (text, user.len());
        Some(())
    }

    /// Replaces the password.
    pub(super) fn set_password(&mut self, password: &str) {
        self.text = joined(self.user(), password.as_bytes());
    }

    /// Returns the value of the header.
    pub(super) fn header(&self) -> Zeroizing<Vec<u8>> {
        let encoded = Zeroizing::new(BASE64.encode(&*self.text));
        let mut header = Zeroizing::new(Vec::with_capacity(self.scheme.len() + encoded.len()));
        header.extend_from_slice(&self.scheme);
        header.extend_from_slice(encoded.as_bytes());
        header
    }
}

fn joined(user: &[u8], password: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(Vec::with_capacity(user.len() + 1 + password.len()));
    text.extend_from_slice(user);
    text.push(COLON);
    text.extend_from_slice(password);
    text
}
