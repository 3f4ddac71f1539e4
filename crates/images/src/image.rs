use std::sync::Arc;

use image_store::layout::Layout;
use image_store::{Form, ImageSummary, Store, StoredImage};
use msb_client::{Error, Notice, Operation, Shared};
use oci_image::Reference;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An image in the store.
#[derive(Debug, Clone)]
pub struct Image {
    shared: Arc<Shared>,
    info: ImageInfo,
    warnings: Vec<Notice>,
}

/// The description of an image, with the keys of `msb images --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ImageInfo {
    /// The name, in docker's short form; `None` if the image has no name.
    pub reference: Option<String>,
    /// The digest of the manifest.
    pub digest: String,
    /// The platform that the image runs on.
    pub platform: String,
    /// Number of layers; a layer that is listed twice counts twice.
    pub layer_count: usize,
    /// Length of its artifacts in their plain forms, in bytes. Other images may share layers.
    pub size_bytes: u64,
    /// Space of its artifacts in the forms that they have, cache files included, in bytes.
    #[serde(default)]
    pub disk_bytes: u64,
    /// The time of creation as the image's config states it, usually as RFC 3339.
    pub created: Option<String>,
}

impl Image {
    pub(crate) fn listed(shared: &Arc<Shared>, summary: ImageSummary) -> Self {
        Self {
            shared: Arc::clone(shared),
            info: ImageInfo {
                reference: summary.reference,
                digest: summary.digest.to_string(),
                platform: summary.platform.to_string(),
                layer_count: summary.layer_count,
                size_bytes: summary.size_bytes,
                disk_bytes: summary.disk_bytes,
                created: summary.created,
            },
            warnings: Vec::new(),
        }
    }

    pub(crate) fn stored(shared: &Arc<Shared>, image: StoredImage, warnings: Vec<Notice>) -> Self {
        let record = image.record;
        let store = Store {
            layout: Layout::new(shared.home().root()),
        };
        // An image that is removed meanwhile takes no space.
        let disk_bytes = store.disk_bytes(&record).unwrap_or(0);
        Self {
            shared: Arc::clone(shared),
            info: ImageInfo {
                reference: record.references.first().map(|name| Self::short_name(name)),
                digest: record.manifest_digest.to_string(),
                platform: record.platform.to_string(),
                layer_count: record.layers.len(),
                size_bytes: record.size_bytes,
                disk_bytes,
                created: record.created,
            },
            warnings,
        }
    }

    /// Returns the short form of an image's full name, as docker shows it.
    pub fn short_name(name: &str) -> String {
        match name.parse::<Reference>() {
            Ok(reference) => reference.familiar(),
            Err(_) => name.to_owned(),
        }
    }

    /// Returns the description of the image.
    pub fn info(&self) -> &ImageInfo {
        &self.info
    }

    /// Returns the digest of the image's manifest.
    pub fn digest(&self) -> &str {
        &self.info.digest
    }

    /// Returns the name in docker's short form; `None` if the image has no name.
    pub fn reference(&self) -> Option<&str> {
        self.info.reference.as_deref()
    }

    /// Returns the notices of the operation that returned the image.
    pub fn warnings(&self) -> &[Notice] {
        &self.warnings
    }

    /// Returns the image's record and the paths of its artifacts, with the keys of
    /// `msb image inspect`.
    ///
    /// # Errors
    /// [`ImageNotFound`](msb_client::ErrorKind::ImageNotFound) if it has been removed.
    pub fn inspect(&self) -> Operation<Map<String, Value>> {
        inspect(Arc::clone(&self.shared), self.info.digest.clone())
    }
}

pub(crate) fn inspect(shared: Arc<Shared>, name: String) -> Operation<Map<String, Value>> {
    Operation::new(async move {
        let work = move |shared: &Shared| {
            let store = shared.store()?;
            inspection(&store, &store.find(&name)?)
        };
        shared.with_home(work).await
    })
}

/// Returns an image's merged metadata as text.
pub(crate) fn dump(image: &StoredImage) -> Result<String, Error> {
    let path = image.fsmeta.display();
    let cannot = |what: &str, error: Error| error.context(format!("cannot {what} {path}"));
    let file = std::fs::File::open(&image.fsmeta);
    let file = file.map_err(|error| cannot("open", error.into()))?;
    let mut text = String::new();
    erofs_writer::Image::open(file)
        .map_err(|error| cannot("open", error.into()))?
        .dump(&mut text)
        .map_err(|error| cannot("dump", error.into()))?;
    Ok(text)
}

/// Returns an image's record, the paths of its artifacts, and the forms of its layers.
fn inspection(store: &Store, image: &StoredImage) -> Result<Map<String, Value>, Error> {
    let Value::Object(mut fields) = serde_json::to_value(&image.record)? else {
        return Err(Error::internal("the image's record is not an object"));
    };
    // The record's description of each artifact stays, under another key than its path.
    for (key, renamed) in [
        ("fsmeta", "fsmeta_artifact"),
        ("vmdk", "vmdk_artifact"),
        ("layers", "layer_artifacts"),
    ] {
        if let Some(detail) = fields.remove(key) {
            fields.insert(renamed.to_owned(), detail);
        }
    }
    let path = |path: &std::path::Path| path.display().to_string();
    fields.insert("fsmeta".to_owned(), path(&image.fsmeta).into());
    fields.insert("vmdk".to_owned(), path(&image.vmdk).into());
    let layers: Vec<_> = image.layers.iter().map(|layer| path(layer)).collect();
    fields.insert("layers".to_owned(), layers.into());
    let mut forms = Vec::new();
    for layer in &image.record.layers {
        forms.push(match Form::find(&store.layout, &layer.erofs)? {
            Some(Form::Plain) => "plain",
            Some(Form::Packed) => "packed",
            None => "missing",
        });
    }
    fields.insert("layer_forms".to_owned(), forms.into());
    let disk_bytes = store.disk_bytes(&image.record)?;
    fields.insert("disk_bytes".to_owned(), disk_bytes.into());
    Ok(fields)
}
