//! Hints on errors of an import: which limit to raise, and where to find room.

use std::error::Error;
use std::io;

use oci_layers::Exceeded;
use oci_registry::RegistryError;

use crate::ingest::ImportError;

/// Returns a hint on the limit among the causes of an error; `None` if there is no limit.
pub(crate) fn exceeded_hint(error: &(dyn Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(exceeded) = error.downcast_ref() {
            return Some(limit_hint(exceeded));
        }
        cause = error.source();
    }
    None
}

/// Returns a hint on a failed import; `None` if there is no remedy.
pub(crate) fn import_hint(error: &ImportError) -> Option<String> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(hint) = error
            .downcast_ref::<RegistryError>()
            .and_then(RegistryError::hint)
        {
            return Some(hint);
        }
        if let Some(exceeded) = error.downcast_ref::<Exceeded>() {
            return Some(limit_hint(exceeded));
        }
        if let Some(hint) = error.downcast_ref::<io::Error>().and_then(space_hint) {
            return Some(hint);
        }
        cause = error.source();
    }
    None
}

/// Returns a hint on how to raise a limit.
pub(crate) fn limit_hint(exceeded: &Exceeded) -> String {
    let name = exceeded.limit.name();
    format!(
        "if you trust the image, raise the limit with --limit {name}=VALUE or \
         MSB_LIMITS={name}=VALUE"
    )
}

pub(crate) fn space_hint(error: &io::Error) -> Option<String> {
    let full = matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    );
    full.then(|| "make room, remove images (msb image rm), or set MSB_HOME elsewhere".to_owned())
}
