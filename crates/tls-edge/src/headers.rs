//! The headers of one connection, which are not passed on to the next one.

use http::header::{
    ACCEPT_CHARSET, ACCEPT_ENCODING, ALT_SVC, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, EXPECT,
    IF_RANGE, RANGE, SEC_WEBSOCKET_EXTENSIONS, TE, TRANSFER_ENCODING, UPGRADE,
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

/// Headers that ask for a part of an answer, or for one in another form than plain bytes. A guest that asks for parts
/// could have a value cut into pieces, none of which is found.
static ASKING_FOR_OTHERS: [HeaderName; 7] = [
    RANGE,
    IF_RANGE,
    ACCEPT_CHARSET,
    SEC_WEBSOCKET_EXTENSIONS,
    // Instance manipulations, one of which is compression (RFC 3229).
    HeaderName::from_static("a-im"),
    HeaderName::from_static("grpc-accept-encoding"),
    HeaderName::from_static("connect-accept-encoding"),
];

/// Headers of an answer that tell how its body, or each message of it, is encoded.
static CODINGS: [HeaderName; 4] = [
    CONTENT_ENCODING,
    HeaderName::from_static("im"),
    HeaderName::from_static("grpc-encoding"),
    HeaderName::from_static("connect-content-encoding"),
];

/// Codings that leave the bytes of a text in place. Some hosts name them, by mistake or by their own convention.
const PLAIN: [&str; 6] = ["identity", "aws-chunked", "utf-8", "utf8", "binary", "none"];

/// Headers that name another path or another method than the request's own, and that servers obey.
static OVERRIDES: [HeaderName; 5] = [
    HeaderName::from_static("x-original-url"),
    HeaderName::from_static("x-rewrite-url"),
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("x-http-method-override"),
    HeaderName::from_static("x-method-override"),
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

/// Removes from a request the headers with which it would be another one than the rules have seen.
pub(crate) fn remove_overrides(headers: &mut HeaderMap) {
    for name in &OVERRIDES {
        headers.remove(name);
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

/// Asks for an answer that can be searched: whole, and in plain bytes.
pub(crate) fn ask_for_plain(headers: &mut HeaderMap) {
    for name in &ASKING_FOR_OTHERS {
        headers.remove(name);
    }
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// Returns true if an answer is compressed, or encoded in another way that hides a value.
pub(crate) fn is_encoded(headers: &HeaderMap) -> bool {
    let mut values = CODINGS.iter().flat_map(|name| headers.get_all(name));
    values.any(|value| !is_plain(value))
}

fn is_plain(value: &HeaderValue) -> bool {
    let is_known = |coding: &str| {
        let mut known = PLAIN.iter();
        coding.is_empty() || known.any(|plain| coding.eq_ignore_ascii_case(plain))
    };
    let text = value.to_str();
    text.is_ok_and(|text| text.split(',').map(str::trim).all(is_known))
}

/// Returns true if there are more fields, or more bytes of names and values, than these.
pub(crate) fn exceed(headers: &HeaderMap, fields_max: usize, bytes_max: usize) -> bool {
    let bytes = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len());
    headers.len() > fields_max || bytes.sum::<usize>() > bytes_max
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
