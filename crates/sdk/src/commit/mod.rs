//! Images that are made of sandboxes.

mod options;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use image_import::{NewImage, OpenBlob};
use image_store::origin::Origin;
use image_store::{ImageDocuments, ImageLease, LayerDescriptor, Store, StoredImage};
use msb_cancellation::Effect;
use msb_client::Shared;
use msb_runtime::Sandbox as StoredSandbox;
use msb_sandbox_files::{CommittedImage, LayerChoice, LayerLimits, SandboxAtRest, SandboxLayer};
use oci_image::{ChildConfig, Descriptor, Reference, media_type};
use oci_layers::{Limit, Limits};
use serde::Serialize;

pub use options::CommitOptions;

use crate::diff::scope;
use crate::sandboxes::missing_image;
use crate::{Error, ErrorKind, Operation, Sandbox};

/// The `created_by` of a committed image's step.
const CREATED_BY: &str = "msb commit";

/// An image that was made of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Committed {
    /// The digest of the image's manifest.
    pub digest: String,
    /// The image's name, in full.
    pub name: String,
    /// The digest of the uncompressed layer; `None` if the sandbox changed nothing since its last
    /// image, so that the new one has the same layers.
    pub layer: Option<String>,
    /// The length of the uncompressed layer, in bytes.
    pub layer_bytes: u64,
    /// Staged directories, files and attributes that the layer lacks, each as a clause; the first hundred of them.
    pub notes: Vec<String>,
    /// The number of all such files and attributes.
    pub notes_total: u64,
}

impl Sandbox {
    /// Makes an image of the sandbox: a child of its image, or of the last image that was made of it,
    /// with one layer that has what changed since. If nothing changed since, and the options change
    /// nothing, that image gets the name. The disk of a running sandbox is frozen and cut, as by
    /// [`Sandbox::diff`].
    ///
    /// ```no_run
    /// use msb_sdk::CommitOptions;
    ///
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// let options = CommitOptions::default()
    ///     .message("with the tools")
    ///     .change("CMD [\"python3\"]");
    /// let image = sandbox.commit("tools:1", options).await?;
    /// println!("{}", image.digest);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if the name or an instruction is invalid, or a
    /// file of the sandbox cannot be part of a layer, and
    /// [`OutOfSpace`](ErrorKind::OutOfSpace). The store's images are unchanged then. If only the note
    /// in the sandbox cannot be written, the image exists, and the next commit has this one's
    /// changes too. For a running sandbox also the errors of [`Sandbox::diff`].
    pub fn commit(&self, name: impl Into<String>, options: CommitOptions) -> Operation<Committed> {
        let name = name.into();
        self.handle()
            .change(Effect::Slight, move |handle| async move {
                let name = parse(&name)?;
                let mut child = options.child()?;
                let limits = msb_images::limits(handle.shared(), &BTreeMap::new())?;
                let (stored, shared) = (handle.stored(), handle.shared());
                let store = shared.with_home(Shared::store).await?;
                let is_snapshot = options.snapshot.is_some();
                let snapshot = options.snapshot.clone();
                let at_rest = shared.at_rest_or_snapshot(&stored, snapshot, options.pause);
                let at_rest = at_rest.await?;
                let epoch = options.source_date_epoch;
                let filter = scope(Vec::new(), &options.exclude, &options.include)?.filter;
                let planning = {
                    let (stored, store) = (stored.clone(), store.clone());
                    let limits = LayerLimits {
                        bytes: limits.get(Limit::LayerBytes),
                        time: Duration::from_secs(limits.get(Limit::LayerTime)),
                    };
                    shared.with_home(move |shared| {
                        let base = if is_snapshot {
                            own_image(&stored, &store)?
                        } else {
                            base(&stored, &store)?
                        };
                        let choice = LayerChoice {
                            filter: &filter,
                            latest_mtime_s: epoch,
                        };
                        plan(shared, at_rest, (base, &store), choice, limits)
                    })
                };
                let Planned {
                    base,
                    _lease,
                    is_committed,
                    documents,
                    layer,
                } = planning.await?;
                child.layer = (!layer.is_empty()).then(|| layer.diff_id());
                let is_known = is_committed && child.layer.is_none() && !options.has_changes();
                let digest = if is_known {
                    let digest = base.record.manifest_digest;
                    let tagged = store.tag(&digest.to_string(), &name).await;
                    tagged.map_err(|error| shared.in_home(Error::from(error)))?;
                    digest
                } else {
                    let config = child.config(&documents.config)?;
                    let parts = (config, documents.layers);
                    let image = new_image(&base, parts, &layer, &child, name.clone());
                    let added = add(&store, &image, &limits).await;
                    let added = added.map_err(|error| shared.in_home(error))?;
                    added.record.manifest_digest
                };
                if !is_snapshot {
                    let noting =
                        shared.with_home(move |_| CommittedImage::new(&stored).note(digest));
                    noting.await?;
                }
                let (notes, notes_total) = layer.notes();
                Ok(Committed {
                    digest: digest.to_string(),
                    name: name.canonical().to_string(),
                    layer: child.layer.map(|layer| layer.to_string()),
                    layer_bytes: child.layer.map_or(0, |_| layer.size_bytes()),
                    notes,
                    notes_total,
                })
            })
    }
}

/// The parts of an image that is to be made.
struct Planned {
    base: StoredImage,
    /// Keeps the base in the store until the image is made.
    _lease: ImageLease,
    /// True if the base was made of the sandbox.
    is_committed: bool,
    documents: ImageDocuments,
    layer: SandboxLayer,
}

fn plan(
    shared: &Shared,
    sandbox: SandboxAtRest,
    ((base, is_committed), store): ((StoredImage, bool), &Store),
    choice: LayerChoice<'_>,
    limits: LayerLimits,
) -> Result<Planned, Error> {
    let lease = store.lease(&base)?;
    let documents = store.documents(&base.record)?;
    let layer = SandboxLayer::new(shared.home(), sandbox, &base, choice, limits)?;
    Ok(Planned {
        base,
        _lease: lease,
        is_committed,
        documents,
        layer,
    })
}

/// Returns the last image that was made of the sandbox, or its own image if there is none or it was
/// removed. True if it was made of the sandbox.
fn base(sandbox: &StoredSandbox, store: &Store) -> Result<(StoredImage, bool), Error> {
    if let Some(committed) = CommittedImage::new(sandbox).read()? {
        match store.find(&committed.to_string()).map_err(Error::from) {
            Err(error) if error.kind() == ErrorKind::ImageNotFound => {}
            found => return Ok((found?, true)),
        }
    }
    own_image(sandbox, store)
}

/// Returns the image that the sandbox was created of, and false: it was not made of the sandbox.
fn own_image(sandbox: &StoredSandbox, store: &Store) -> Result<(StoredImage, bool), Error> {
    let image = store.find(&sandbox.spec.image_digest);
    let image = image.map_err(|error| missing_image(&sandbox.spec, error))?;
    Ok((image, false))
}

fn new_image(
    base: &StoredImage,
    (config, mut layers): (Vec<u8>, Vec<LayerDescriptor>),
    layer: &SandboxLayer,
    child: &ChildConfig,
    name: Reference,
) -> NewImage {
    let mut blobs = BTreeMap::new();
    if let Some(diff_id) = child.layer {
        layers.push(LayerDescriptor {
            diff_id,
            // The layer is kept uncompressed, so it is its own blob.
            blob: Descriptor {
                digest: diff_id,
                size_bytes: layer.size_bytes(),
            },
            media_type: media_type::OCI_LAYER.to_owned(),
            repository: None,
        });
        let layer = layer.clone();
        blobs.insert(diff_id, OpenBlob::new(move || Ok(Box::new(layer.open()?))));
    }
    NewImage {
        config,
        layers,
        blobs,
        names: vec![name],
        origin: Origin::Derived {
            parent: base.record.manifest_digest,
        },
    }
}

async fn add(store: &Store, image: &NewImage, limits: &Limits) -> Result<StoredImage, Error> {
    let added = image_import::add(store, image, limits, Arc::new(())).await;
    added.map_err(Error::from)
}

/// Parses the name of the new image. A digest would name another image than the one that is made.
fn parse(name: &str) -> Result<Reference, Error> {
    let parsed: Reference = name.parse().map_err(|error: oci_image::InvalidReference| {
        let name = msb_client::printable(name);
        Error::from(error).context(format!("'{name}' cannot be the name of an image"))
    })?;
    if parsed.digest().is_some() {
        let name = parsed.familiar();
        let message = format!("cannot name an image {name}: the name must not contain a digest");
        return Err(Error::invalid(message).with_hint("leave out the digest, and add a tag"));
    }
    Ok(parsed)
}
