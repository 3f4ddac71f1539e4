use std::fmt;
use std::future::IntoFuture;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use image_export::{LayerCompression, SaveFormat, SaveTarget};
use msb_client::{Cancellation, Error, ErrorKind, Operation, Shared};
use serde::{Deserialize, Serialize};

/// The options of a save.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SaveOptions {
    /// Names, digests or beginnings of digests of the images. A name is kept in the archive.
    pub names: Vec<String>,
    /// Path of the archive, or of the new directory.
    pub path: Option<PathBuf>,
    /// The form of the archive.
    pub format: SaveFormat,
    /// The compression of the layers of an OCI layout; an archive of docker's form has none.
    pub compression: LayerCompression,
}

/// A save that has not begun: options to set, then `.await`.
#[derive(Clone)]
#[must_use = "a save does nothing until it is awaited"]
pub struct SaveRequest {
    shared: Arc<Shared>,
    options: SaveOptions,
}

impl fmt::Debug for SaveRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SaveRequest").field(&self.options).finish()
    }
}

impl SaveRequest {
    pub(crate) fn new(shared: Arc<Shared>, names: Vec<String>, path: Option<PathBuf>) -> Self {
        let options = SaveOptions {
            names,
            path,
            ..SaveOptions::default()
        };
        Self { shared, options }
    }

    /// Sets the form of the archive.
    pub fn format(mut self, format: SaveFormat) -> Self {
        self.options.format = format;
        self
    }

    /// Sets the compression of the layers of an OCI layout.
    pub fn compression(mut self, compression: LayerCompression) -> Self {
        self.options.compression = compression;
        self
    }

    /// Writes the archive to a stream, on a thread of its own. After a failure the stream has the
    /// beginning of an archive.
    ///
    /// # Errors
    /// Fails as [`Images::save`](crate::Images::save) does, or if the stream does.
    pub fn write_to(self, stream: impl Write + Send + 'static) -> Operation<()> {
        let Self { shared, options } = self;
        Operation::new(async move { save(shared, options, Some(Box::new(stream))).await })
    }
}

impl IntoFuture for SaveRequest {
    type Output = Result<(), Error>;
    type IntoFuture = Operation<()>;

    fn into_future(self) -> Operation<()> {
        save_with(self.shared, self.options)
    }
}

pub(crate) fn save_with(shared: Arc<Shared>, options: SaveOptions) -> Operation<()> {
    Operation::new(async move { save(shared, options, None).await })
}

async fn save(
    shared: Arc<Shared>,
    options: SaveOptions,
    stream: Option<Box<dyn Write + Send>>,
) -> Result<(), Error> {
    let (cancellation, _cancel) = Cancellation::on_drop();
    // An unfinished file is removed soon after the operation was dropped; nobody waits for a stream.
    let cleanup = stream.is_none().then(|| shared.cleanups().begin());
    let work = move |shared: &Shared| {
        let _cleanup = cleanup;
        save_now(shared, &options, stream, &|| cancellation.is_cancelled())
    };
    shared.with_home(work).await
}

fn save_now(
    shared: &Shared,
    options: &SaveOptions,
    mut stream: Option<Box<dyn Write + Send>>,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let target = match (&mut stream, &options.path) {
        (Some(stream), _) => SaveTarget::Stream(&mut **stream),
        (None, Some(path)) => SaveTarget::Path(path.clone()),
        (None, None) => {
            let message = "a save needs the path of an archive";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
    };
    let save_options = image_export::SaveOptions {
        format: options.format,
        compression: options.compression,
    };
    let store = shared.store()?;
    let names = &options.names;
    Ok(image_export::save(
        &store,
        names,
        &save_options,
        target,
        is_cancelled,
    )?)
}
