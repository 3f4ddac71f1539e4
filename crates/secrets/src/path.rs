use diagnosis::{Diagnose, Diagnosis, ErrorKind};

#[cfg(test)]
mod tests;

/// Longest path that is compared with a rule, in bytes. Longer ones are refused.
pub const PATH_MAX_BYTES: usize = 8 << 10;

/// The path of a request cannot be compared with a rule, because servers read it in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPath {
    /// The path does not begin with a slash.
    #[error("the path does not begin with /")]
    Relative,
    /// The path is too long to be compared.
    #[error("the path is too long, the limit is {PATH_MAX_BYTES} bytes")]
    TooLong,
    /// The text contains a query or a fragment, which are not parts of a path.
    #[error("the path contains ? or #")]
    Query,
    /// A percent sign is not followed by two hexadecimal digits.
    #[error("the path contains % without two hexadecimal digits")]
    Escape,
    /// The path has an encoded slash, or a backslash, which some servers take for a slash.
    #[error("the path contains an encoded slash or a backslash")]
    Slash,
    /// The path has a parameter, which some servers cut off before they resolve `..`.
    #[error("the path contains ;")]
    Parameter,
    /// The path has an empty segment, `.` or `..`.
    #[error("the path contains //, /./ or /../")]
    Segment,
    /// The path has a control character.
    #[error("the path contains a control character")]
    Control,
    /// The decoded path is not UTF-8.
    #[error("the path is not UTF-8")]
    NotText,
    /// The path is encoded twice, and some servers decode twice.
    #[error("the path is percent-encoded twice")]
    EncodedTwice,
}

/// Returns the decoded path of a request, if all servers read the path alike.
///
/// `raw` is the path of the request as it was sent, without its query. It is decoded once: the result must
/// not be passed to this function again.
///
/// # Errors
/// A path that is relative or ambiguous: with `.` or `..`, `//`, an encoded slash, a backslash, `;`, a
/// control character or an invalid or a double encoding.
pub fn checked_path(raw: &str) -> Result<String, InvalidPath> {
    if raw.len() > PATH_MAX_BYTES {
        return Err(InvalidPath::TooLong);
    }
    if !raw.starts_with('/') {
        return Err(InvalidPath::Relative);
    }
    if raw.contains(['?', '#']) {
        return Err(InvalidPath::Query);
    }
    let decoded = decode(raw)?;
    check_decoded(&decoded)?;
    Ok(decoded)
}

/// Decodes percent-encoded bytes once. An encoded slash is an error here, where it can still be told
/// from a slash.
fn decode(raw: &str) -> Result<String, InvalidPath> {
    let mut decoded = Vec::with_capacity(raw.len());
    let mut bytes = raw.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let high = bytes.next().and_then(hex_digit);
        let low = bytes.next().and_then(hex_digit);
        let (Some(high), Some(low)) = (high, low) else {
            return Err(InvalidPath::Escape);
        };
        match (high << 4) | low {
            b'/' => return Err(InvalidPath::Slash),
            byte => decoded.push(byte),
        }
    }
    String::from_utf8(decoded).map_err(|_| InvalidPath::NotText)
}

fn hex_digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}

fn check_decoded(decoded: &str) -> Result<(), InvalidPath> {
    if decoded.chars().any(char::is_control) {
        return Err(InvalidPath::Control);
    }
    if decoded.contains('\\') {
        return Err(InvalidPath::Slash);
    }
    if decoded.contains(';') {
        return Err(InvalidPath::Parameter);
    }
    let is_encoded = |three: &[u8]| {
        matches!(three, [b'%', high, low]
            if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
    };
    if decoded.as_bytes().windows(3).any(is_encoded) {
        return Err(InvalidPath::EncodedTwice);
    }
    // The path ends with an empty segment if it ends with a slash.
    let inner = decoded.strip_suffix('/').unwrap_or(decoded);
    let mut segments = inner.split('/').skip(1);
    if segments.any(|segment| matches!(segment, "" | "." | "..")) {
        return Err(InvalidPath::Segment);
    }
    Ok(())
}

impl Diagnose for InvalidPath {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Relative
            | Self::TooLong
            | Self::Query
            | Self::Escape
            | Self::Slash
            | Self::Parameter
            | Self::Segment
            | Self::Control
            | Self::NotText
            | Self::EncodedTwice => Diagnosis::new(ErrorKind::InvalidArgument),
        }
    }
}
