//! The headers of one connection, which are not passed on to the next one.

use http::header::{
    ACCEPT_ENCODING, ALT_SVC, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, EXPECT,
    SEC_WEBSOCKET_EXTENSIONS, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::upgrade::{has_token, tokens};

/// Headers that speak of the connection they came over (RFC 9110, section 7.6.1).
static OF_CONNECTION: [HeaderName; 6] = [
    CONNECTION,
    UPGRADE,
    TE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("http2-settings"),
];

/// Removes from a request the headers of its connection. `Expect` is one of them: hyper answers it.
pub(crate) fn clean_request(headers: &mut HeaderMap) {
    let takes_trailers = has_token(headers, TE, "trailers");
    remove_of_connection(headers);
    headers.remove(EXPECT);
    if takes_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// Removes from an answer the headers of its connection, and the offer to reach the host without TLS over TCP.
pub(crate) fn clean_answer(headers: &mut HeaderMap) {
    remove_of_connection(headers);
    headers.remove(TRANSFER_ENCODING);
    headers.remove(ALT_SVC);
}

/// Sets the headers of a message that changes the protocol of its connection.
pub(crate) fn set_protocols(headers: &mut HeaderMap, protocols: HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, protocols);
}

/// Sets the length of a body that is written anew: known, or chunked in HTTP/1.1.
///
/// hyper sends no body with `GET` unless a header says that it has one.
pub(crate) fn set_length(headers: &mut HeaderMap, length: Option<u64>, is_h2: bool) {
    headers.remove(TRANSFER_ENCODING);
    if length.is_some() {
        return;
    }
    headers.remove(CONTENT_LENGTH);
    if !is_h2 {
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
}

/// Asks for an answer that can be searched.
pub(crate) fn ask_for_plain(headers: &mut HeaderMap) {
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.remove(SEC_WEBSOCKET_EXTENSIONS);
}

/// Returns true if an answer is compressed.
pub(crate) fn is_encoded(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_ENCODING).iter();
    values.any(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Returns true if the body of an answer is chunked, or not coded for its transfer.
pub(crate) fn is_plainly_transferred(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
}

fn remove_of_connection(headers: &mut HeaderMap) {
    let named: Vec<_> = tokens(headers, CONNECTION)
        .filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok())
        // They decide how the message is read; hyper has read it.
        .filter(|name| ![CONTENT_LENGTH, TRANSFER_ENCODING].contains(name))
        .collect();
    for name in OF_CONNECTION.iter().chain(&named) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests;
