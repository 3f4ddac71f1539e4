//! The layers of images packed, and made plain again.

use std::collections::BTreeSet;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;

use image_store::{Form, ImageRecord, MaintenanceOptions, Store, used};
use msb_client::{Error, Operation, Shared};
use serde::{Deserialize, Serialize};

use super::Image;

/// A packing or an unpacking that has not begun: options to set, then `.await`.
#[derive(Clone)]
#[must_use = "images are not packed until this is awaited"]
pub struct PackRequest {
    shared: Arc<Shared>,
    names: Vec<String>,
    form: Form,
    observer: Option<PackObserver>,
}

/// A function that gets the progress of a packing.
type PackObserver = Arc<dyn Fn(PackProgress) + Send + Sync>;

/// A step of a packing or an unpacking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackProgress {
    /// Number of plain bytes since the previous step.
    pub bytes: u64,
    /// Length of the layers of all chosen images, in bytes. Those that have the form already are not read.
    pub total_bytes: u64,
}

/// An image that was packed or unpacked, with the keys of `msb image pack --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PackedImage {
    /// The first name, in docker's short form; `None` if the image has no name.
    pub reference: Option<String>,
    /// The digest of the manifest.
    pub digest: String,
    /// Number of layers; a layer that is listed twice counts once.
    pub layers: usize,
    /// Number of layers that were packed or unpacked now.
    pub changed_layers: usize,
    /// Length of the layers in their plain form, in bytes.
    pub plain_bytes: u64,
    /// Space of the layers in the form that they have now, with their cache files, in bytes.
    pub disk_bytes: u64,
}

impl fmt::Debug for PackRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackRequest")
            .field("names", &self.names)
            .field("form", &self.form)
            .finish_non_exhaustive()
    }
}

impl PackRequest {
    pub(crate) const fn new(shared: Arc<Shared>, names: Vec<String>, form: Form) -> Self {
        Self {
            shared,
            names,
            form,
            observer: None,
        }
    }

    /// Passes the progress to `observer`, on the thread that packs. It must be quick.
    pub fn watch(mut self, observer: impl Fn(PackProgress) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Changes the form of all layers. Blocks.
    fn run(&self, shared: &Shared) -> Result<Vec<PackedImage>, Error> {
        let store = shared.store()?;
        let records = self.records(&store)?;
        let total_bytes = total_bytes(&records);
        let progress = |bytes| {
            if let Some(observer) = &self.observer {
                observer(PackProgress { bytes, total_bytes });
            }
        };
        let mut images = Vec::new();
        for record in &records {
            let packing = match self.form {
                Form::Packed => store.pack(record, &progress)?,
                Form::Plain => {
                    // Maintenance does not pack it again at once.
                    used::note(&store.layout, &record.manifest_digest);
                    store.unpack(record, &progress)?
                }
            };
            images.push(PackedImage {
                reference: record
                    .references
                    .first()
                    .map(|name| Image::short_name(name)),
                digest: record.manifest_digest.to_string(),
                layers: packing.layers,
                changed_layers: packing.changed,
                plain_bytes: packing.plain_bytes,
                disk_bytes: packing.disk_bytes,
            });
        }
        Ok(images)
    }

    /// Returns the records of the chosen images, each once; of all images if none is named.
    fn records(&self, store: &Store) -> Result<Vec<ImageRecord>, Error> {
        let names = if self.names.is_empty() {
            let images = store.images()?.into_iter();
            images.map(|image| image.digest.to_string()).collect()
        } else {
            self.names.clone()
        };
        let (mut seen, mut records) = (BTreeSet::new(), Vec::new());
        for name in names {
            let record = store.find(&name)?.record;
            if seen.insert(record.manifest_digest) {
                records.push(record);
            }
        }
        Ok(records)
    }
}

/// Returns the length of the layers of images, each counted once, in bytes.
fn total_bytes(records: &[ImageRecord]) -> u64 {
    let (mut seen, mut bytes) = (BTreeSet::new(), 0);
    for layer in records.iter().flat_map(|record| &record.layers) {
        if seen.insert(layer.diff_id) {
            bytes += layer.erofs.size_bytes;
        }
    }
    bytes
}

impl IntoFuture for PackRequest {
    type Output = Result<Vec<PackedImage>, Error>;
    type IntoFuture = Operation<Vec<PackedImage>>;

    fn into_future(self) -> Operation<Vec<PackedImage>> {
        Operation::new(async move {
            let shared = Arc::clone(&self.shared);
            shared.with_home(move |shared| self.run(shared)).await
        })
    }
}

/// Packs layers that were not used for a while, and keeps cache files below their limit.
pub(crate) fn maintain(shared: Arc<Shared>) -> Operation<()> {
    Operation::new(async move {
        let work = |shared: &Shared| {
            let settings = shared.settings();
            let options = MaintenanceOptions {
                pack_after: settings.pack.unwrap_or_default().duration(),
                cache_limit_bytes: settings.pack_cache().bytes(),
            };
            shared.store()?.maintain(&options)?;
            Ok::<_, Error>(())
        };
        shared.with_home(work).await
    })
}
