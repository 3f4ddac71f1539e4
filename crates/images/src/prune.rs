use std::sync::Arc;
use std::time::Duration;

use image_store::Pruning;
use msb_client::{Error, ErrorKind, Operation, Shared};
use msb_runtime::{Sandbox, UnreadableSandbox, machine_parts};
use msb_sandbox_files::ApplyRecords;
use oci_image::Digest;
use serde::{Deserialize, Serialize};

use super::PruneOptions;

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
    /// Number of removed stores of earlier formats.
    #[serde(default)]
    pub older_stores: usize,
    /// Number of removed images of staged directories, which no sandbox had.
    #[serde(default)]
    pub staged_directories: usize,
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

pub(crate) fn prune(shared: Arc<Shared>, options: PruneOptions) -> Operation<Pruned> {
    Operation::new(async move {
        shared
            .with_home(move |shared| prune_now(shared, &options))
            .await
    })
}

fn prune_now(shared: &Shared, options: &PruneOptions) -> Result<Pruned, Error> {
    Sandbox::sweep(shared.home())?;
    if !options.dry_run {
        ApplyRecords::of_home(shared.home().root()).finish_all();
    }
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
    let users = shared.image_users();
    if let Some(sandbox) = users.unknown()?.first() {
        return Err(unknown_need(sandbox));
    }
    let needed = |digest: &Digest| users.need(&digest.to_string());
    let store = shared.store()?;
    let pruned = store.prune(&store_options, &needed)?;
    let images = pruned.images.into_iter().map(|image| PrunedImage {
        digest: image.digest.to_string(),
        references: image.references,
    });
    let mut report = Pruned {
        images: images.collect(),
        spared: pruned.spared.iter().map(ToString::to_string).collect(),
        left_overs: pruned.left_overs,
        older_stores: 0,
        staged_directories: 0,
        freed_bytes: pruned.freed_bytes,
        kept_bytes: pruned.kept_bytes,
        dry_run: options.dry_run,
    };
    for older in store.older_stores()? {
        if older.is_in_use {
            continue;
        }
        report.older_stores += 1;
        report.freed_bytes += older.size_bytes;
        if !options.dry_run {
            store.remove_older(&older)?;
        }
    }
    let staged = shared.home().staged_images();
    for image in staged.all()?.iter().filter(|image| !image.is_used) {
        report.staged_directories += 1;
        report.freed_bytes += image.allocated_bytes;
        if !options.dry_run {
            staged.remove(image)?;
        }
    }
    // Kernels, boot disks and images of staged directories that killed processes were writing.
    for path in machine_parts(shared.home())?.left_overs {
        report.left_overs += 1;
        report.freed_bytes += std::fs::metadata(&path).map_or(0, |file| file.len());
        if !options.dry_run {
            match std::fs::remove_file(path) {
                // Another process stages a directory, and was faster.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    Ok(report)
}

/// Returns the error that an image may be needed by a sandbox whose description cannot be read.
fn unknown_need(sandbox: &UnreadableSandbox) -> Error {
    let name = sandbox.name();
    let message = format!(
        "cannot prune images: the image of sandbox {name} is unknown: {}",
        sandbox.error()
    );
    Error::new(ErrorKind::ImageInUse, message)
        .with_hint(format!(
            "remove the sandbox and its files with msb rm {name}"
        ))
        .with_detail("sandboxes", vec![name.to_owned()])
}
