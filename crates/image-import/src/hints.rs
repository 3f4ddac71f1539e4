//! Diagnoses of errors of an import: which limit to raise, and where to find room.

use std::error::Error;
use std::io;

use diagnosis::{Diagnose, Diagnosis, is_full_disk};
use oci_layers::Exceeded;
use oci_registry::RegistryError;

/// Returns the diagnosis of an error of the host or of a format, with the remedy of the limit or of the full
/// disk among its causes.
pub(crate) fn of_source(error: &(dyn Error + 'static)) -> Diagnosis {
    Diagnosis::of_foreign(error).with_hints(hint(error))
}

/// Returns the diagnosis of an error of a registry, which may be an exceeded limit.
pub(crate) fn of_registry(error: &RegistryError) -> Diagnosis {
    let diagnosis = error.diagnosis();
    if diagnosis.hints().is_empty() {
        diagnosis.with_hints(hint(error))
    } else {
        diagnosis
    }
}

fn hint(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(Exceeded { limit, .. }) = cause.downcast_ref() {
            let name = limit.name();
            return Some(format!(
                "if you trust the image, raise the limit with --limit {name}=VALUE or \
                 MSB_LIMITS={name}=VALUE"
            ));
        }
        if cause.downcast_ref::<io::Error>().is_some_and(is_full_disk) {
            let hint = "make room, remove images (msb image rm), or set MSB_HOME elsewhere";
            return Some(hint.to_owned());
        }
        next = cause.source();
    }
    None
}
