use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use diagnosis::{Diagnose, Diagnosis};
use image_store::origin::Origin;
use image_store::session::Session;
use image_store::stamp::VerifyMode;
use image_store::{Progress, Store, StoredImage};
use oci_image::{Digest, InvalidReference, Platform, Reference, excerpt};
use oci_layers::Limits;
use tokio::task::spawn_blocking;

use crate::archive::{Archive, ArchiveError, Choice, Found, Skipped};
use crate::hints::of_source;
use crate::ingest::{ImportError, Ingest, LayerSource};

/// Name of standard input in messages.
const STDIN_NAME: &str = "standard input";

/// Location of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadSource {
    /// A directory with an OCI layout, an OCI archive or a docker archive.
    Path(PathBuf),
    /// An archive on standard input, which is not seekable and therefore copied to a temporary
    /// file.
    Stdin,
}

/// Options of a load.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Name of the image, in place of its name in the archive.
    pub name: Option<Reference>,
    /// Platform of the image to choose from an index; `None` for the host's.
    pub platform: Option<Platform>,
    /// The image to load of an archive that has several; `None` for all.
    pub choice: Option<Choice>,
    /// True to verify by digest the parts that are already stored, and to make damaged ones again.
    pub verify: bool,
    /// Limits on the cost of an image.
    pub limits: Limits,
}

/// The outcome of a load.
#[derive(Debug)]
pub struct Loaded {
    /// Images that are in the store now.
    pub images: Vec<StoredImage>,
    /// Entries of the archive that were not loaded.
    pub skipped: Skipped,
}

/// An error that ended a load before all images were stored.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The archive cannot be used.
    #[error("cannot load {source_name}")]
    Archive {
        /// Path of the archive, or `standard input`.
        source_name: String,
        /// Cause reported by the archive's reader.
        #[source]
        source: Box<ArchiveError>,
    },
    /// A name was given, but the archive has several images.
    #[error("cannot load {source_name} as {name}: it has {images} images")]
    OneNameForMany {
        /// Path of the archive, or `standard input`.
        source_name: String,
        /// Name that was given.
        name: String,
        /// Number of images in the archive.
        images: usize,
    },
    /// The archive contains an invalid name for an image.
    #[error("cannot load {source_name}: its image name '{name}' is not valid")]
    Name {
        /// Path of the archive, or `standard input`.
        source_name: String,
        /// The name, shortened and escaped.
        name: String,
        /// Cause reported by the name's parser.
        #[source]
        source: InvalidReference,
    },
    /// An image of the archive cannot be stored.
    #[error("cannot load image {digest} of {source_name}")]
    Import {
        /// Path of the archive, or `standard input`.
        source_name: String,
        /// Digest of the image's manifest.
        digest: Digest,
        /// Cause reported by the import.
        #[source]
        source: Box<ImportError>,
    },
    /// The store cannot be written.
    #[error("cannot write to the store")]
    Io(#[source] io::Error),
}

impl Diagnose for LoadError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Archive { source, .. } => source.diagnosis(),
            Self::OneNameForMany { source_name, .. } if source_name == STDIN_NAME => {
                Diagnosis::default().hint("load it without -t; its images keep their own names")
            }
            Self::OneNameForMany { source_name, .. } => Diagnosis::default().hint(format!(
                "choose one with {source_name}:TAG or {source_name}:@0, or load it without -t"
            )),
            Self::Name { .. } => Diagnosis::default(),
            Self::Import { source, .. } => source.diagnosis(),
            Self::Io(source) => of_source(source),
        }
    }
}

impl fmt::Display for LoadSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(formatter),
            Self::Stdin => formatter.write_str(STDIN_NAME),
        }
    }
}

impl LoadSource {
    fn name(&self) -> String {
        self.to_string()
    }

    fn origin(&self) -> Origin {
        match self {
            // If the current directory no longer exists, the path stays relative.
            Self::Path(path) => Origin::Path(std::path::absolute(path).unwrap_or(path.clone())),
            Self::Stdin => Origin::StandardInput,
        }
    }
}

/// Loads every image of an archive that fits the platform, or the one that was chosen. Each gets its names in the archive;
/// an image without a name is known by its digest. All documents are checked before the first
/// layer is read.
///
/// # Errors
/// If the archive is invalid, incomplete or does not match its digests, or if the host fails.
/// Images that were complete before stay in the store.
pub async fn load(
    store: &Store,
    source: &LoadSource,
    options: &LoadOptions,
    progress: Arc<dyn Progress>,
) -> Result<Loaded, LoadError> {
    let session = Arc::new(Session::begin(&store.layout).await.map_err(LoadError::Io)?);
    let outcome = load_in(store, &session, source, options, progress).await;
    session.end().await;
    outcome
}

async fn load_in(
    store: &Store,
    session: &Arc<Session>,
    source: &LoadSource,
    options: &LoadOptions,
    progress: Arc<dyn Progress>,
) -> Result<Loaded, LoadError> {
    let (archive, found, skipped) = open(source, options, session).await?;
    let named = found
        .into_iter()
        .map(|found| names(source, options, &found).map(|names| (found, names)))
        .collect::<Result<Vec<_>, _>>()?;
    let ingest = Ingest {
        layout: store.layout.clone(),
        session: Arc::clone(session),
        source: LayerSource::Archive(Arc::new(archive)),
        origin: source.origin(),
        repositories: Vec::new(),
        trust: VerifyMode::verifying(options.verify),
        limits: options.limits.clone(),
        progress,
    };
    let mut stored = Vec::new();
    for (Found { image, .. }, names) in named {
        let digest = image.manifest_digest;
        let failed = |error| LoadError::Import {
            source_name: source.name(),
            digest,
            source: Box::new(error),
        };
        stored.push(ingest.run(&image, &names).await.map_err(failed)?);
    }
    Ok(Loaded {
        images: stored,
        skipped,
    })
}

async fn open(
    source: &LoadSource,
    options: &LoadOptions,
    session: &Arc<Session>,
) -> Result<(Archive, Vec<Found>, Skipped), LoadError> {
    let path = match source {
        LoadSource::Path(path) => Some(path.clone()),
        LoadSource::Stdin => None,
    };
    let wanted = options.platform.clone().unwrap_or_else(Platform::host);
    let session = Arc::clone(session);
    let (limits, choice) = (options.limits.clone(), options.choice.clone());
    let opening = spawn_blocking(move || {
        Archive::open(path.as_deref(), &session, &wanted, choice.as_ref(), &limits)
    });
    let opened = opening.await.map_err(|error| LoadError::Io(error.into()))?;
    let (archive, found, skipped) = opened.map_err(|error| LoadError::Archive {
        source_name: source.name(),
        source: Box::new(error),
    })?;
    match &options.name {
        Some(name) if found.len() > 1 => Err(LoadError::OneNameForMany {
            source_name: source.name(),
            name: name.familiar(),
            images: found.len(),
        }),
        _ => Ok((archive, found, skipped)),
    }
}

/// Returns the names for an image.
fn names(
    source: &LoadSource,
    options: &LoadOptions,
    found: &Found,
) -> Result<Vec<Reference>, LoadError> {
    if let Some(name) = &options.name {
        return Ok(vec![name.clone()]);
    }
    let parse = |name: &String| {
        name.parse().map_err(|error| LoadError::Name {
            source_name: source.name(),
            name: excerpt(name),
            source: error,
        })
    };
    found.names.iter().map(parse).collect()
}
