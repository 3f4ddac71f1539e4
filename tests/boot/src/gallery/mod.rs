//! Images of well-known services, made of Debian's packages in the manner of those on registries.
//!
//! Each starts as its image says and as its user, answers on a published port, logs where `msb logs`
//! finds it, reloads, stops in its own way with the exit code that docker gives, and starts again with
//! its data.

mod life;
mod service;
mod table;

use test_support::harness::{self, Trial};

use service::Service;

/// Returns a test for each service. Those of the long form run on request.
pub(crate) fn tests() -> Vec<Trial> {
    table::all()
        .map(|(service, is_long)| test(service).with_ignored_flag(is_long))
        .collect()
}

fn test(service: &'static Service) -> Trial {
    let name = format!("gallery::boot_{}", harness::name_of(service.image.name));
    harness::test(name, || life::live(service))
}
