//! The limit of the space that images take.

use std::sync::Arc;
use std::time::Duration;

use image_store::{PruneError, PruneOptions, Store};
use msb_client::{Error, Notice, Shared, blocking};
use msb_sandbox_model::Size;
use oci_image::Digest;

/// Removes the least recently used images until the rest keep to the limit. The images `newest`,
/// which the operation asked for, are kept. Does nothing while other pulls or loads run: the last of
/// them does it.
pub(crate) async fn keep(
    shared: &Arc<Shared>,
    store: &Store,
    limit_bytes: Option<u64>,
    newest: &[Digest],
) -> Result<Vec<Notice>, Error> {
    let Some(limit_bytes) = limit_bytes else {
        return Ok(Vec::new());
    };
    let (shared, store, newest) = (Arc::clone(shared), store.clone(), newest.to_vec());
    blocking(move || prune(&shared, &store, limit_bytes, &newest)).await
}

fn prune(
    shared: &Shared,
    store: &Store,
    limit_bytes: u64,
    newest: &[Digest],
) -> Result<Vec<Notice>, Error> {
    let options = PruneOptions {
        limit_bytes: Some(limit_bytes),
        lock_timeout: Duration::ZERO,
        ..PruneOptions::default()
    };
    let users = shared.image_users();
    let needed = |digest: &Digest| Ok(newest.contains(digest) || users.need(&digest.to_string())?);
    let pruned = match store.prune(&options, &needed) {
        Err(PruneError::Busy) => return Ok(Vec::new()),
        // The image is in the store; what is damaged does not make its pull fail.
        Err(error @ PruneError::UnreadableName { .. }) => {
            let message = format!("cannot enforce MSB_STORE_LIMIT: {error}");
            return Ok(vec![Notice::new("store-limit", message)]);
        }
        other => other?,
    };
    let mut notices = Vec::new();
    for image in &pruned.images {
        let digest = image.digest.to_string();
        let name = image.references.first().unwrap_or(&digest);
        let message = format!("removed image {name}, because images exceeded MSB_STORE_LIMIT");
        notices.push(Notice::new("image-pruned", message));
    }
    if pruned.kept_bytes > limit_bytes {
        let message = format!(
            "the remaining images take {}, which exceeds MSB_STORE_LIMIT, but all of them are in use",
            Size::new(pruned.kept_bytes).human()
        );
        notices.push(Notice::new("store-limit", message));
    }
    Ok(notices)
}
