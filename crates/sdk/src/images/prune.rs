use std::sync::Arc;
use std::time::Duration;

use image_store::Pruning;
use msb_runtime::{Sandbox, machine_parts};
use serde::{Deserialize, Serialize};

use super::PruneOptions;
use crate::shared::Shared;
use crate::{Error, Operation};

/// The time for which a prune waits for pulls and loads to end.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The result of a prune, with the keys of `msb prune --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Pruned {
    /// The removed images.
    pub images: Vec<PrunedImage>,
    /// Digests of selected images that stay, because they are in use or a sandbox needs them.
    pub spared: Vec<String>,
    /// Number of removed files that no image needed before.
    pub left_overs: usize,
    /// Length of all removed files, in bytes.
    pub freed_bytes: u64,
    /// Length of the remaining artifacts, in bytes.
    pub kept_bytes: u64,
    /// True if nothing was changed.
    pub dry_run: bool,
}

/// An image that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PrunedImage {
    /// The digest of the manifest.
    pub digest: String,
    /// Names that were removed with it, in docker's short form.
    pub references: Vec<String>,
}

pub(super) fn prune(shared: Arc<Shared>, options: PruneOptions) -> Operation<Pruned> {
    Operation::new(async move {
        shared
            .with_home(move |shared| prune_now(shared, &options))
            .await
    })
}

fn prune_now(shared: &Shared, options: &PruneOptions) -> Result<Pruned, Error> {
    Sandbox::sweep(shared.home())?;
    let store_options = image_store::PruneOptions {
        images: if options.all {
            Pruning::All
        } else {
            Pruning::Unnamed
        },
        unused_for: options.unused_for(),
        limit_bytes: None,
        dry_run: options.dry_run,
        lock_timeout: LOCK_TIMEOUT,
    };
    let pruned = shared.store()?.prune(&store_options, &shared.needed())?;
    let images = pruned.images.into_iter().map(|image| PrunedImage {
        digest: image.digest.to_string(),
        references: image.references,
    });
    let mut report = Pruned {
        images: images.collect(),
        spared: pruned.spared.iter().map(ToString::to_string).collect(),
        left_overs: pruned.left_overs,
        freed_bytes: pruned.freed_bytes,
        kept_bytes: pruned.kept_bytes,
        dry_run: options.dry_run,
    };
    // Kernels and boot disks that killed processes were writing.
    for path in machine_parts(shared.home())?.left_overs {
        report.left_overs += 1;
        report.freed_bytes += std::fs::metadata(&path).map_or(0, |file| file.len());
        if !options.dry_run {
            std::fs::remove_file(path)?;
        }
    }
    Ok(report)
}
