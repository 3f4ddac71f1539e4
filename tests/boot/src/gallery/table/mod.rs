//! The services.

mod data;
mod short;
mod systems;
mod web;

use super::service::Service;

/// A request for the address of `name.test`, over TCP (RFC 1035, section 4.2.2).
const DNS_REQUEST: &[u8] =
    b"\x00\x1b\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04name\x04test\x00\x00\x01\x00\x01";

/// Returns all services; a long one runs on request.
pub(super) fn all() -> impl Iterator<Item = (&'static Service, bool)> {
    let short = short::SERVICES.iter().map(|service| (service, false));
    let long = [web::SERVICES, data::SERVICES, systems::SERVICES];
    short.chain(long.into_iter().flatten().map(|service| (service, true)))
}
