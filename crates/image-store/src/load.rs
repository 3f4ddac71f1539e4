use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use oci_layers::Limits;
use tokio::task::spawn_blocking;

use crate::archive::{Archive, ArchiveError, Found};
use crate::digest::Digest;
use crate::ingest::{ImportError, Ingest, LayerSource};
use crate::platform::Platform;
use crate::progress::Progress;
use crate::pull::{exceeded_hint, import_hint, space_hint};
use crate::reference::{InvalidReference, Reference};
use crate::store::origin::Origin;
use crate::store::session::Session;
use crate::store::stamp::Trust;
use crate::store::{Store, StoredImage};
use crate::text::excerpt;

/// Where an archive is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadSource {
    /// A directory with an OCI layout, an OCI archive or a docker archive.
    Path(PathBuf),
    /// An archive on standard input. It cannot be sought in, so it is kept in a file meanwhile.
    Stdin,
}

/// How to load.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// The image's name, instead of what the archive calls it.
    pub name: Option<Reference>,
    /// Which of an index's images; `None` for the host's.
    pub platform: Option<Platform>,
    /// Digest what the store has of the image already, and make anew what is damaged.
    pub verify: bool,
    /// What an image may cost.
    pub limits: Limits,
}

/// Why nothing, or not all, was loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The archive cannot be followed.
    #[error("cannot load {source_name}")]
    Archive {
        /// Where it is.
        source_name: String,
        /// Why not.
        #[source]
        source: Box<ArchiveError>,
    },
    /// One name cannot name several images.
    #[error("cannot load {source_name} as {name}: it has {images} images")]
    OneNameForMany {
        /// Where it is.
        source_name: String,
        /// The name.
        name: String,
        /// How many images there are.
        images: usize,
    },
    /// The archive gives an image a name that is none.
    #[error("cannot load {source_name}: it names an image '{name}'")]
    Name {
        /// Where it is.
        source_name: String,
        /// The name, cut and escaped.
        name: String,
        /// What is wrong with it.
        #[source]
        source: InvalidReference,
    },
    /// An image's layers did not get into the store.
    #[error("cannot load image {digest} of {source_name}")]
    Import {
        /// Where the archive is.
        source_name: String,
        /// Which image.
        digest: Digest,
        /// Why not.
        #[source]
        source: Box<ImportError>,
    },
    /// The store cannot be written.
    #[error("cannot write to the store")]
    Io(#[source] io::Error),
}

impl LoadError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io(error) => space_hint(error),
            Self::Import { source, .. } => import_hint(source),
            Self::OneNameForMany { .. } => {
                Some("load it without -t; its images keep their own names".to_owned())
            }
            Self::Archive { source, .. } => match &**source {
                ArchiveError::Io(error) => space_hint(error),
                error => exceeded_hint(error),
            },
            Self::Name { .. } => None,
        }
    }
}

impl LoadSource {
    fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
        }
    }

    fn origin(&self) -> Origin {
        match self {
            // A directory that is gone by now leaves the path as it was given.
            Self::Path(path) => Origin::Path(std::path::absolute(path).unwrap_or(path.clone())),
            Self::Stdin => Origin::StandardInput,
        }
    }
}

impl Store {
    /// Loads every image of an archive that is for the platform, under the names that the archive
    /// gives, or else by its digest alone. All documents are checked before the first layer is read.
    ///
    /// # Errors
    /// When the archive is none, is not whole, or not what its digests say, or the host fails.
    /// Images that were complete by then stay.
    pub async fn load(
        &self,
        source: &LoadSource,
        options: &LoadOptions,
        progress: Arc<dyn Progress>,
    ) -> Result<Vec<StoredImage>, LoadError> {
        let session = Arc::new(Session::begin(&self.layout).await.map_err(LoadError::Io)?);
        let outcome = self.load_in(&session, source, options, progress).await;
        session.end().await;
        outcome
    }

    async fn load_in(
        &self,
        session: &Arc<Session>,
        source: &LoadSource,
        options: &LoadOptions,
        progress: Arc<dyn Progress>,
    ) -> Result<Vec<StoredImage>, LoadError> {
        let (archive, found) = open(source, options, session).await?;
        let named = found
            .into_iter()
            .map(|found| names(source, options, &found).map(|names| (found, names)))
            .collect::<Result<Vec<_>, _>>()?;
        let ingest = Ingest {
            layout: self.layout.clone(),
            session: Arc::clone(session),
            source: LayerSource::Archive(Arc::new(archive)),
            origin: source.origin(),
            trust: Trust::verifying(options.verify),
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
        Ok(stored)
    }
}

async fn open(
    source: &LoadSource,
    options: &LoadOptions,
    session: &Arc<Session>,
) -> Result<(Archive, Vec<Found>), LoadError> {
    let path = match source {
        LoadSource::Path(path) => Some(path.clone()),
        LoadSource::Stdin => None,
    };
    let wanted = options.platform.clone().unwrap_or_else(Platform::host);
    let session = Arc::clone(session);
    let limits = options.limits.clone();
    let opening =
        spawn_blocking(move || Archive::open(path.as_deref(), &session, &wanted, &limits));
    let opened = opening.await.map_err(|error| LoadError::Io(error.into()))?;
    let (archive, found) = opened.map_err(|error| LoadError::Archive {
        source_name: source.name(),
        source: Box::new(error),
    })?;
    match &options.name {
        Some(name) if found.len() > 1 => Err(LoadError::OneNameForMany {
            source_name: source.name(),
            name: name.familiar(),
            images: found.len(),
        }),
        _ => Ok((archive, found)),
    }
}

/// What to call an image.
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
