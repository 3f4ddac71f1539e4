use std::future::IntoFuture;
use std::path::PathBuf;
use std::sync::Arc;

use image_export::{LayerCompression, LayerRoute, PushProgress, push};
use image_store::{Store, StoredImage};
use msb_client::{Error, ErrorKind, Operation, Shared, blocking};
use oci_image::Reference;
use serde::{Deserialize, Serialize};

use super::not_found::without_pull;
use super::warnings::Warnings;
use super::watched::Watched;
use super::{PushEvent, SourceOptions};

/// The options of a push.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PushOptions {
    /// Name, digest or beginning of a digest of the image.
    pub name: String,
    /// Name of the image at the registry, with a tag; `name` if `None`.
    pub destination: Option<String>,
    /// The compression of the layers that are made anew from the store.
    pub compression: LayerCompression,
    /// True to use HTTP without TLS.
    pub plain_http: bool,
    /// File of certificate authorities to trust too, in PEM.
    pub tls_ca: Option<PathBuf>,
}

/// An image that was pushed, with the keys of `msb push --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Pushed {
    /// Name of the image at the registry, in docker's short form.
    pub reference: String,
    /// Digest of the manifest at the registry.
    pub digest: String,
    /// Digest of the manifest in the store. It is that at the registry unless layers were made
    /// anew.
    pub source_digest: String,
    /// Number of bytes of layers that were uploaded.
    pub uploaded_bytes: u64,
    /// Layers, the base layer first.
    pub layers: Vec<PushedLayer>,
}

/// A layer of an image that was pushed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PushedLayer {
    /// Diff ID of the layer.
    pub diff_id: String,
    /// Digest of the blob at the registry.
    pub digest: String,
    /// Media type of the blob.
    pub media_type: String,
    /// Length of the blob, in bytes.
    pub size_bytes: u64,
    /// The way of the layer to the registry.
    pub route: LayerRoute,
}

/// A push that has not begun: options to set, then `.await` or [`watch`](Self::watch).
#[derive(Debug, Clone)]
#[must_use = "a push does nothing until it is awaited"]
pub struct PushRequest {
    shared: Arc<Shared>,
    options: PushOptions,
}

impl PushRequest {
    pub(crate) fn new(shared: Arc<Shared>, name: String) -> Self {
        let options = PushOptions {
            name,
            ..PushOptions::default()
        };
        Self { shared, options }
    }

    /// Sets the name of the image at the registry.
    pub fn to(mut self, destination: impl Into<String>) -> Self {
        self.options.destination = Some(destination.into());
        self
    }

    /// Sets the compression of the layers that are made anew from the store.
    pub fn compression(mut self, compression: LayerCompression) -> Self {
        self.options.compression = compression;
        self
    }

    /// Uses HTTP without TLS.
    pub fn plain_http(mut self) -> Self {
        self.options.plain_http = true;
        self
    }

    /// Trusts the certificate authorities in a PEM file too.
    pub fn tls_ca(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.tls_ca = Some(path.into());
        self
    }

    /// Replaces all options.
    pub fn with_options(mut self, options: PushOptions) -> Self {
        self.options = options;
        self
    }

    /// Begins the push and returns its progress.
    ///
    /// It runs on the current Tokio runtime until it is complete or the [`Push`] is dropped.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let push = msb.images().push("app:dev").to("ghcr.io/me/app:1").watch();
    /// while let Some(event) = push.next().await? {
    ///     println!("{event:?}");
    /// }
    /// println!("{}", push.pushed().await?.digest);
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch(self) -> Push {
        let Self { shared, options } = self;
        Push(Watched::begin(|queue| async move {
            push_image(&shared, &options, queue).await
        }))
    }
}

impl IntoFuture for PushRequest {
    type Output = Result<Pushed, Error>;
    type IntoFuture = Operation<Pushed>;

    fn into_future(self) -> Operation<Pushed> {
        Operation::new(async move { push_image(&self.shared, &self.options, Arc::new(())).await })
    }
}

/// A push that runs, and its progress. Dropping it stops the push, which publishes nothing then,
/// unless its manifest was on its way already.
#[derive(Debug)]
pub struct Push(Watched<PushEvent, Pushed>);

impl Push {
    /// Returns the next event, and waits for it; `None` once the push is complete.
    ///
    /// # Errors
    /// The failure of the push, once.
    pub async fn next(&self) -> Result<Option<PushEvent>, Error> {
        self.0.next().await
    }

    /// Waits until the push is complete, and returns what was pushed.
    ///
    /// # Errors
    /// The failure of the push, unless [`next`](Self::next) has returned it.
    pub async fn pushed(&self) -> Result<Pushed, Error> {
        self.0.result().await
    }
}

async fn push_image(
    shared: &Arc<Shared>,
    options: &PushOptions,
    progress: Arc<dyn PushProgress>,
) -> Result<Pushed, Error> {
    let name = options.name.clone();
    let find = move |shared: &Shared| {
        let store = shared.store()?;
        let found = store.find_named(&name);
        let (reference, image) = found.map_err(without_pull)?;
        Ok::<_, Error>((store, reference, image))
    };
    let (store, reference, image) = shared.with_home(find).await?;
    let destination = destination(options, reference)?;
    let settings = {
        let (shared, source) = (Arc::clone(shared), options.source());
        blocking(move || source.pull_options(&shared)).await?
    };
    let push_options = image_export::PushOptions {
        compression: options.compression,
        plain_http: settings.plain_http,
        credentials: settings.credentials,
        registries: settings.registries,
        registry_limits: settings.registry_limits,
    };
    let warned = Arc::new(Warnings::new(progress));
    let progress: Arc<dyn PushProgress> = Arc::<Warnings<dyn PushProgress>>::clone(&warned);
    let pushed = pushed(&store, &image, &destination, &push_options, progress).await;
    warned
        .take()
        .into_iter()
        .for_each(|notice| shared.note(notice));
    pushed.map_err(|error| shared.in_home(error))
}

async fn pushed(
    store: &Store,
    image: &StoredImage,
    destination: &Reference,
    options: &image_export::PushOptions,
    progress: Arc<dyn PushProgress>,
) -> Result<Pushed, Error> {
    let pushed = push(store, image, destination, options, progress).await?;
    let layers = pushed.layers.into_iter();
    Ok(Pushed {
        reference: pushed.reference.familiar(),
        digest: pushed.manifest_digest.to_string(),
        source_digest: image.record.manifest_digest.to_string(),
        uploaded_bytes: pushed.uploaded_bytes,
        layers: layers
            .map(|layer| PushedLayer {
                diff_id: layer.diff_id.to_string(),
                digest: layer.blob.digest.to_string(),
                media_type: layer.media_type,
                size_bytes: layer.blob.size_bytes,
                route: layer.route,
            })
            .collect(),
    })
}

impl PushOptions {
    fn source(&self) -> SourceOptions {
        SourceOptions {
            plain_http: self.plain_http,
            tls_ca: self.tls_ca.clone(),
            ..SourceOptions::default()
        }
    }
}

/// Returns the destination: that of the options, or else the name by which the image was found.
fn destination(options: &PushOptions, found: Option<Reference>) -> Result<Reference, Error> {
    match (&options.destination, found) {
        (Some(destination), _) => super::tag::reference(destination),
        (None, Some(reference)) => Ok(reference),
        (None, None) => {
            let message = "an image that is named by its digest needs the name of a destination";
            Err(Error::new(ErrorKind::InvalidArgument, message))
        }
    }
}
