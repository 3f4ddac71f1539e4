//! The checks of a request's head: one authority, which is the connection's, and one length.
//!
//! The host's certificate proves one name. A request that names another one could reach another tenant of the
//! same servers, together with the value of a secret.

use http::header::{HOST, TRANSFER_ENCODING};
use http::request::Parts;
use http::uri::Scheme;
use http::{Method, Version};

use crate::limits::FIELDS_MAX;
use crate::refusal::Refusal;
use crate::settings::Destination;

/// The port of a URI that names none.
const DEFAULT_PORT: u16 = 443;

/// Checks the head of a request on a connection to a destination.
///
/// # Errors
///
/// Fails if the request must not be sent.
pub(crate) fn check(head: &Parts, destination: &Destination) -> Result<(), Refusal> {
    // CONNECT would be a tunnel past these checks, and TRACE asks for the request's headers.
    if matches!(head.method, Method::CONNECT | Method::TRACE) {
        return Err(Refusal::Method);
    }
    if !is_for(head, destination) {
        return Err(Refusal::Authority);
    }
    if head.headers.len() > FIELDS_MAX {
        return Err(Refusal::Fields);
    }
    check_coding(head)
}

/// Returns the authority of a destination as a request names it.
pub(crate) fn authority_of(destination: &Destination) -> String {
    let Destination { name, port, .. } = destination;
    if *port == DEFAULT_PORT {
        name.clone()
    } else {
        format!("{name}:{port}")
    }
}

fn is_for(head: &Parts, destination: &Destination) -> bool {
    let is_h2 = head.version == Version::HTTP_2;
    let in_uri = head.uri.authority();
    let has_form = match (in_uri, head.uri.scheme()) {
        (Some(_), Some(scheme)) => *scheme == Scheme::HTTPS && head.uri.path_and_query().is_some(),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    let hosts = head.headers.get_all(HOST);
    let hosts_are_right = hosts.iter().all(|host| {
        host.to_str()
            .is_ok_and(|host| is_authority(host, destination))
    });
    // HTTP/2 has the authority in the URI, and may repeat it in one header.
    let has_one = match hosts.iter().count() {
        0 => is_h2 && in_uri.is_some(),
        1 => true,
        _ => false,
    };
    let uri_is_right = in_uri.is_none_or(|text| is_authority(text.as_str(), destination));
    has_form && has_one && hosts_are_right && uri_is_right
}

fn is_authority(text: &str, destination: &Destination) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok().filter(|_| is_number(port))),
        None => (text, Some(DEFAULT_PORT)),
    };
    host.eq_ignore_ascii_case(&destination.name) && port == Some(destination.port)
}

/// Returns true for a number without a sign and without leading zeros.
fn is_number(text: &str) -> bool {
    !text.starts_with(['0', '+'])
}

/// Checks that a body is chunked and nothing else: another coding would be lost, because the body is written anew.
fn check_coding(head: &Parts) -> Result<(), Refusal> {
    let mut codings = head.headers.get_all(TRANSFER_ENCODING).iter();
    let is_chunked = match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    };
    if is_chunked {
        Ok(())
    } else {
        Err(Refusal::Coding)
    }
}

#[cfg(test)]
mod tests;
