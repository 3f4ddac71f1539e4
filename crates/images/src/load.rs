use std::fmt;
use std::future::IntoFuture;
use std::path::PathBuf;
use std::sync::Arc;

use image_import::{Choice, LoadSource};
use msb_client::{Error, ErrorKind, Notice, Operation, Shared};
use msb_sandbox_model::Size;

use super::options::{limits, platform};
use super::progress::{Observer, observed};
use super::{Image, LoadOptions, PullEvent, budget, tag};

/// A load that has not begun: options to set, then `.await`.
#[derive(Clone)]
#[must_use = "a load does nothing until it is awaited"]
pub struct LoadRequest {
    shared: Arc<Shared>,
    options: LoadOptions,
    observer: Option<Observer>,
}

impl fmt::Debug for LoadRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LoadRequest").field(&self.options).finish()
    }
}

impl LoadRequest {
    pub(crate) fn new(shared: Arc<Shared>, path: PathBuf) -> Self {
        let options = LoadOptions {
            path: Some(path),
            ..LoadOptions::default()
        };
        Self {
            shared,
            options,
            observer: None,
        }
    }

    /// Sets the name of the image, instead of its name in the archive.
    pub fn tag(mut self, name: impl Into<String>) -> Self {
        self.options.tag = Some(name.into());
        self
    }

    /// Sets the one image to load of an archive that has several: its tag or its name there, its position
    /// as `@0`, or its digest as `@sha256:…`.
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.options.image = Some(image.into());
        self
    }

    /// Replaces all options.
    pub fn with_options(mut self, options: LoadOptions) -> Self {
        self.options = options;
        self
    }

    /// Passes the events of the load to `observer`, on the threads that import. It must be quick.
    pub fn watch(mut self, observer: impl Fn(PullEvent) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Sets the platform, as `OS/ARCH[/VARIANT]`.
    pub fn platform(mut self, platform: impl Into<String>) -> Self {
        self.options.platform = Some(platform.into());
        self
    }
}

impl IntoFuture for LoadRequest {
    type Output = Result<Vec<Image>, Error>;
    type IntoFuture = Operation<Vec<Image>>;

    fn into_future(self) -> Operation<Vec<Image>> {
        let Self {
            shared,
            options,
            observer,
        } = self;
        Operation::new(async move { load(&shared, &options, observer.as_ref()).await })
    }
}

pub(crate) fn load_with(shared: Arc<Shared>, options: LoadOptions) -> Operation<Vec<Image>> {
    Operation::new(async move { load(&shared, &options, None).await })
}

async fn load(
    shared: &Arc<Shared>,
    options: &LoadOptions,
    observer: Option<&Observer>,
) -> Result<Vec<Image>, Error> {
    let load_options = image_import::LoadOptions {
        name: options.tag.as_deref().map(tag::reference).transpose()?,
        choice: options.image.as_deref().map(choice).transpose()?,
        platform: platform(options.platform.as_deref())?,
        limits: limits(shared, &options.limits)?,
        ..image_import::LoadOptions::default()
    };
    let source = match &options.path {
        Some(path) => LoadSource::Path(path.clone()),
        None => LoadSource::Stdin,
    };
    let store = shared.with_home(Shared::store).await?;
    let loaded = image_import::load(&store, &source, &load_options, observed(observer)).await;
    let loaded = loaded.map_err(|error| shared.in_home(error.into()))?;
    let digests = loaded
        .images
        .iter()
        .map(|image| image.record.manifest_digest);
    let digests: Vec<_> = digests.collect();
    let limit = options.store_limit.or(shared.settings().store_limit);
    let mut warnings = budget::keep(shared, &store, limit.map(Size::bytes), &digests).await?;
    shared.maintain_images().await;
    if !loaded.skipped.is_empty() {
        let message = format!("not loaded from {source}: {}", loaded.skipped);
        warnings.push(Notice::new("load-skipped", message));
    }
    let images = loaded.images.into_iter();
    let images = images.map(|image| Image::stored(shared, image, warnings.clone()));
    Ok(images.collect())
}

/// Parses the choice of an image.
fn choice(text: &str) -> Result<Choice, Error> {
    let parsed = text.parse::<Choice>();
    parsed.map_err(|error| Error::new(ErrorKind::InvalidArgument, error.to_string()))
}
