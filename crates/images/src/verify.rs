//! Verification of images, and the repair of what is damaged.

use std::collections::BTreeSet;
use std::fmt;
use std::future::IntoFuture;
use std::path::PathBuf;
use std::sync::Arc;

use image_store::{Damage, FileRole, Progress, Store, Verification, VerifyMode};
use msb_client::{Error, Operation, Shared, blocking};
use msb_runtime::{MachineParts, machine_parts};
use oci_image::Digest;
use serde::{Deserialize, Serialize};

use super::progress::{Observer, observed};
use super::{PullEvent, SourceOptions};

/// A verification that has not begun: options to set, then `.await`.
#[derive(Clone)]
#[must_use = "a verification does nothing until it is awaited"]
pub struct VerifyRequest {
    shared: Arc<Shared>,
    names: Vec<String>,
    is_repair: bool,
    observer: Option<Observer>,
}

/// The result of a verification, with the keys of `msb image verify --format json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verified {
    /// Digests of the verified images.
    pub images: BTreeSet<String>,
    /// Number of verified files.
    pub files: usize,
    /// Length of the verified files, in bytes.
    pub bytes: u64,
    /// Every damaged file.
    pub damages: Vec<DamagedFile>,
    /// Steps that the user has to take.
    pub advice: Vec<String>,
}

/// A file that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DamagedFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The part of an image that the file is: `name`, `image`, `origin`, `layer`, `layer-record`,
    /// `disk` or `unneeded`; `machine` for a kernel or a boot disk.
    pub part: String,
    /// The damage.
    pub problem: String,
    /// Digests of the images that need the file.
    pub images: BTreeSet<String>,
    /// True if the file was repaired.
    pub repaired: bool,
}

impl Verified {
    /// Returns true if nothing is damaged, or everything was repaired.
    pub fn is_intact(&self) -> bool {
        self.damages.iter().all(|damage| damage.repaired)
    }
}

impl fmt::Debug for VerifyRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VerifyRequest").field(&self.names).finish()
    }
}

impl VerifyRequest {
    pub(crate) const fn new(shared: Arc<Shared>, names: Vec<String>) -> Self {
        Self {
            shared,
            names,
            is_repair: false,
            observer: None,
        }
    }

    /// Repairs damaged files from copies, from layers, or from the source of the image.
    pub const fn repair(mut self, is_repair: bool) -> Self {
        self.is_repair = is_repair;
        self
    }

    /// Passes the events to `observer`, on the threads that read. It must be quick.
    pub fn watch(mut self, observer: impl Fn(PullEvent) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }
}

impl IntoFuture for VerifyRequest {
    type Output = Result<Verified, Error>;
    type IntoFuture = Operation<Verified>;

    fn into_future(self) -> Operation<Verified> {
        Operation::new(async move { self.run().await })
    }
}

impl VerifyRequest {
    async fn run(self) -> Result<Verified, Error> {
        let store = self.shared.with_home(Shared::store).await?;
        let progress = observed(self.observer.as_ref());
        let found = look(&store, &self.names, VerifyMode::Digest, &progress).await?;
        // Kernels and boot disks belong to no image.
        let parts = if self.names.is_empty() {
            let work = |shared: &Shared| machine_parts(shared.home());
            self.shared.with_home(work).await?
        } else {
            MachineParts::default()
        };
        let is_intact = found.damages.is_empty() && parts.damaged.is_empty();
        if !self.is_repair || is_intact {
            let left = Left {
                damages: found.damages.clone(),
                parts: parts.damaged.clone(),
            };
            return Ok(report(&found, &parts, &left, Vec::new()));
        }
        let advice = self.repair_now(&store, &found, &progress).await?;
        // Intact files have a stamp since the first verification.
        let again = look(&store, &self.names, VerifyMode::Stamp, &progress).await?;
        for path in &parts.damaged {
            // The next start writes the file again.
            std::fs::remove_file(path)?;
        }
        let left = Left {
            damages: again.damages,
            parts: Vec::new(),
        };
        Ok(report(&found, &parts, &left, advice))
    }

    async fn repair_now(
        &self,
        store: &Store,
        found: &Verification,
        progress: &Arc<dyn Progress>,
    ) -> Result<Vec<String>, Error> {
        let options = {
            let shared = Arc::clone(&self.shared);
            blocking(move || SourceOptions::default().pull_options(&shared)).await?
        };
        let repaired = image_import::repair(store, found, &options, progress).await;
        Ok(repaired
            .map_err(|error| self.shared.in_home(error.into()))?
            .advice)
    }
}

/// The damage that remains after a repair.
struct Left {
    damages: Vec<Damage>,
    parts: Vec<PathBuf>,
}

/// Verifies on its own thread, because it reads the whole store.
async fn look(
    store: &Store,
    names: &[String],
    mode: VerifyMode,
    progress: &Arc<dyn Progress>,
) -> Result<Verification, Error> {
    let (store, names, progress) = (store.clone(), names.to_vec(), Arc::clone(progress));
    blocking(move || store.verify(&names, mode, &*progress)).await
}

fn report(
    found: &Verification,
    parts: &MachineParts,
    left: &Left,
    advice: Vec<String>,
) -> Verified {
    let texts = |digests: &BTreeSet<Digest>| digests.iter().map(Digest::to_string).collect();
    let damages = found.damages.iter().map(|damage| DamagedFile {
        path: damage.path.clone(),
        part: part_name(damage.role).to_owned(),
        problem: damage.problem.to_string(),
        images: texts(&damage.images),
        repaired: left.damages.iter().all(|still| still.path != damage.path),
    });
    let of_machine = parts.damaged.iter().map(|path| DamagedFile {
        path: path.clone(),
        part: "machine".to_owned(),
        problem: "its content has changed".to_owned(),
        images: BTreeSet::new(),
        repaired: !left.parts.contains(path),
    });
    Verified {
        images: texts(&found.images),
        files: found.files + parts.files,
        bytes: found.bytes + parts.bytes,
        damages: damages.chain(of_machine).collect(),
        advice,
    }
}

const fn part_name(part: FileRole) -> &'static str {
    match part {
        FileRole::Name => "name",
        FileRole::Image => "image",
        FileRole::Origin => "origin",
        FileRole::Document => "document",
        FileRole::Layer => "layer",
        FileRole::Outline => "outline",
        FileRole::LayerRecord => "layer-record",
        FileRole::Disk => "disk",
        FileRole::Unneeded => "unneeded",
    }
}
