//! Images of well-known services, made of Debian's packages in the manner of those on registries.
//!
//! Each starts as its image says and as its user, answers on a published port, logs where `msb logs`
//! finds it, reloads, stops in its own way with the exit code that docker gives, and starts again with
//! its data. An image of clients tries what each of them trusts.

mod clients;
mod life;
mod service;
mod table;

use test_support::harness::{self, Trial};

use service::Service;

/// Returns a test for each service, and those of clients. Those of the long form run on request.
pub(crate) fn tests() -> Vec<Trial> {
    let services = table::all();
    let services = services.map(|(service, is_long)| test(service).with_ignored_flag(is_long));
    let clients = format!("gallery::boot_{}", clients::NAME);
    let clients = harness::long_test(clients, clients::trusting);
    let layouts = clients::LAYOUTS.iter().map(|layout| {
        let name = format!("gallery::boot_{}", harness::name_of(layout.image.name));
        harness::long_test(name, move || clients::trusted(layout))
    });
    services.chain([clients]).chain(layouts).collect()
}

fn test(service: &'static Service) -> Trial {
    let name = format!("gallery::boot_{}", harness::name_of(service.image.name));
    harness::test(name, || life::live(service))
}
