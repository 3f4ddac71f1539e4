use std::future::IntoFuture;
use std::path::PathBuf;
use std::sync::Arc;

use image_store::{Event, Progress, Store, StoredImage};
use msb_client::{Error, ErrorKind, Notice, Operation, Shared, blocking};
use msb_sandbox_model::Size;
use oci_image::{Digest, Reference};

use super::warnings::Warnings;
use super::watched::Watched;
use super::{Image, PullEvent, PullOptions, SourceOptions, budget};

/// A pull that has not begun: options to set, then `.await` or [`watch`](Self::watch).
///
/// ```no_run
/// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
/// let image = msb.images().pull("alpine").platform("linux/amd64").await?;
/// println!("{}", image.digest());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a pull does nothing until it is awaited"]
pub struct PullRequest {
    shared: Arc<Shared>,
    options: PullOptions,
}

impl PullRequest {
    pub(crate) fn new(shared: Arc<Shared>, name: String) -> Self {
        let options = PullOptions {
            name,
            ..PullOptions::default()
        };
        Self { shared, options }
    }

    /// Sets the platform, as `OS/ARCH[/VARIANT]`.
    pub fn platform(mut self, platform: impl Into<String>) -> Self {
        self.options.source.platform = Some(platform.into());
        self
    }

    /// Uses HTTP without TLS.
    pub fn plain_http(mut self) -> Self {
        self.options.source.plain_http = true;
        self
    }

    /// Trusts the certificate authorities in a PEM file too.
    pub fn tls_ca(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.source.tls_ca = Some(path.into());
        self
    }

    /// Changes a limit on the cost of the image, such as `layer-time` to `3d`.
    pub fn limit(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let limits = &mut self.options.source.limits;
        limits.insert(name.into(), value.into());
        self
    }

    /// Removes the least recently used images if all take more than this.
    pub fn store_limit(mut self, limit: Size) -> Self {
        self.options.source.store_limit = Some(limit);
        self
    }

    /// Begins the pull and returns its progress.
    ///
    /// It runs on the current Tokio runtime until it is complete or the [`Pull`] is dropped.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let pull = msb.images().pull("alpine").watch();
    /// while let Some(event) = pull.next().await? {
    ///     println!("{event:?}");
    /// }
    /// let image = pull.image().await?;
    /// # let _ = image;
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch(self) -> Pull {
        Pull::begin(self.shared, self.options)
    }
}

impl IntoFuture for PullRequest {
    type Output = Result<Image, Error>;
    type IntoFuture = Operation<Image>;

    fn into_future(self) -> Operation<Image> {
        pull_with(self.shared, self.options)
    }
}

pub(crate) fn pull_with(shared: Arc<Shared>, options: PullOptions) -> Operation<Image> {
    Operation::new(async move { pull_image(&shared, &options, Arc::new(())).await })
}

async fn pull_image(
    shared: &Arc<Shared>,
    options: &PullOptions,
    progress: Arc<dyn Progress>,
) -> Result<Image, Error> {
    let store = shared.with_home(Shared::store).await?;
    let (stored, warnings) =
        pull_into(shared, &store, &options.name, &options.source, progress).await?;
    Ok(Image::stored(shared, stored, warnings))
}

/// Pulls an image into the store, and keeps to the limit of the space that images take.
pub async fn pull_into(
    shared: &Arc<Shared>,
    store: &Store,
    name: &str,
    source: &SourceOptions,
    progress: Arc<dyn Progress>,
) -> Result<(StoredImage, Vec<Notice>), Error> {
    if name.parse::<Digest>().is_ok() {
        return Err(digest_alone(name));
    }
    let reference: Reference = name.parse().map_err(|error: oci_image::InvalidReference| {
        let name = msb_client::printable(name);
        Error::from(error)
            .context(format!(
                "'{name}' is not the name of an image in a registry"
            ))
            .with_detail("name", name)
    })?;
    let options = {
        let (shared, source) = (Arc::clone(shared), source.clone());
        blocking(move || source.pull_options(&shared)).await?
    };
    progress.event(&Event::Resolving { name });
    let warned = Arc::new(Warnings::new(progress));
    let progress: Arc<dyn Progress> = Arc::<Warnings<dyn Progress>>::clone(&warned);
    let pulled = image_import::pull(store, &reference, &options, progress).await;
    let image = pulled.map_err(|error| {
        // They may say why the pull was refused.
        warned
            .take()
            .into_iter()
            .for_each(|notice| shared.note(notice));
        shared.in_home(error.into())
    })?;
    let newest = [image.record.manifest_digest];
    let limit_bytes = source.store_limit_bytes(shared);
    let mut warnings = warned.take();
    warnings.extend(budget::keep(shared, store, limit_bytes, &newest).await?);
    shared.maintain_images().await;
    Ok((image, warnings))
}

/// Returns the error of a digest without a name. It would be taken for the tag of a repository of the
/// name sha256.
fn digest_alone(digest: &str) -> Error {
    let message =
        format!("cannot pull {digest}: a digest alone does not name a registry or a repository");
    Error::new(ErrorKind::InvalidArgument, message)
        .with_detail("name", digest)
        .with_hint(format!(
            "write the image's name before it, as in msb pull NAME@{digest}"
        ))
}

/// A pull that runs, and its progress. Dropping it stops the pull; layers that are complete stay in
/// the store.
#[derive(Debug)]
pub struct Pull(Watched<PullEvent, Image>);

impl Pull {
    pub(crate) fn begin(shared: Arc<Shared>, options: PullOptions) -> Self {
        Self(Watched::begin(|queue| async move {
            pull_image(&shared, &options, queue).await
        }))
    }

    /// Returns the next event, and waits for it; `None` once the pull is complete.
    ///
    /// # Errors
    /// The failure of the pull, once.
    pub async fn next(&self) -> Result<Option<PullEvent>, Error> {
        self.0.next().await
    }

    /// Waits until the pull is complete, and returns the image.
    ///
    /// # Errors
    /// The failure of the pull, unless [`next`](Self::next) has returned it.
    pub async fn image(&self) -> Result<Image, Error> {
        self.0.result().await
    }
}
