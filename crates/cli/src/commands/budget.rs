//! `MSB_STORE_LIMIT`, the limit of the space that images use.

use std::time::Duration;

use image_store::{PruneError, PruneOptions, Store};
use oci_image::Digest;

use super::Context;
use crate::failure::Failure;
use crate::output;

/// Removes the least recently used images until the rest keep to the limit. The images `newest`,
/// which this command asked for, are kept. Does nothing while other pulls or loads run: the last of
/// them does it.
pub(crate) fn keep(
    context: &Context,
    store: &Store,
    limit_bytes: Option<u64>,
    newest: &[Digest],
) -> Result<(), Failure> {
    let Some(limit_bytes) = limit_bytes else {
        return Ok(());
    };
    let options = PruneOptions {
        limit_bytes: Some(limit_bytes),
        lock_timeout: Duration::ZERO,
        ..PruneOptions::default()
    };
    let by_sandbox = context.needed();
    let needed = |digest: &Digest| Ok(newest.contains(digest) || by_sandbox(digest)?);
    let pruned = match store.prune(&options, &needed) {
        Err(PruneError::Busy) => return Ok(()),
        other => other?,
    };
    if context.quiet {
        return Ok(());
    }
    for image in &pruned.images {
        let digest = image.digest.to_string();
        let name = image.references.first().unwrap_or(&digest);
        output::notice(&format!(
            "removed image {name}, because images exceeded MSB_STORE_LIMIT"
        ));
    }
    if pruned.kept_bytes > limit_bytes {
        output::notice(&format!(
            "the remaining images take {}, which exceeds MSB_STORE_LIMIT, but all of them are in \
             use",
            output::human_size(pruned.kept_bytes)
        ));
    }
    Ok(())
}
