use std::collections::BTreeSet;
use std::error::Error;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use diagnosis::{Diagnose, Diagnosis};
use fs_err as fs;
use image_store::kept::remove_file;
use image_store::layout::{self, Layout};
use image_store::lock::{Lock, Mode};
use image_store::origin::{Origin, OriginFile};
use image_store::record::{self, ErofsRecord, ImageRecord, LayerFile, LayerRecord};
use image_store::session::Session;
use image_store::{
    Damage, FileRole, OutlineRecord, PackedRecord, Problem, Progress, Store, Verification,
    VerifyMode, artifacts, documents, tree, whole_image,
};
use oci_image::{Digest, Reference};
use oci_layers::Limits;
use tokio::task::spawn_blocking;

use crate::assemble::{AssembleError, assemble};
use crate::pull::{PullOptions, Target, pull_target};

/// Result of a repair: the damage that only the user can repair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repair {
    /// One sentence for each remaining damage.
    pub advice: Vec<String>,
}

/// An error that ended a repair early. Completed repairs remain.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// The store cannot be written.
    #[error("cannot write to the store")]
    Io(#[from] io::Error),
    /// Intact layers cannot be assembled to a disk.
    #[error("cannot assemble image {image}")]
    Assemble {
        /// Digest of the image's manifest.
        image: Digest,
        /// Cause reported by the assembly.
        #[source]
        source: AssembleError,
    },
}

impl Diagnose for RepairError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Io(source) => source.diagnosis(),
            Self::Assemble { source, .. } => source.diagnosis(),
        }
    }
}

/// Repairs the damage that a verification found: records from their copies and from each other,
/// metadata and descriptors from their layers, layers from their registries. Intact files are
/// not changed; for damage that remains there is advice.
///
/// # Errors
/// If the store cannot be written.
pub async fn repair(
    store: &Store,
    found: &Verification,
    options: &PullOptions,
    progress: &Arc<dyn Progress>,
) -> Result<Repair, RepairError> {
    let mut repair = Repair::default();
    let mut lost: BTreeSet<&Digest> = BTreeSet::new();
    let session = Arc::new(Session::begin(&store.layout).await?);
    for damage in &found.damages {
        match damage.role {
            FileRole::Name | FileRole::Image | FileRole::Origin => {
                repair
                    .advice
                    .extend(repair_record(store, &session, damage)?);
            }
            FileRole::Unneeded => discard(store, &damage.path)?,
            FileRole::Document => {
                if !repair_document(store, &session, &damage.path)? {
                    lost.extend(&damage.images);
                }
            }
            FileRole::Tree => repair_tree(store, &session, damage).await?,
            FileRole::Layer | FileRole::Outline => lost.extend(&damage.images),
            FileRole::LayerRecord | FileRole::Disk => {}
        }
    }
    let images: BTreeSet<&Digest> = found
        .damages
        .iter()
        .flat_map(|damage| &damage.images)
        .collect();
    let mut to_fetch = Vec::new();
    for image in images {
        match whole_image(&store.layout, image).filter(|_| !lost.contains(image)) {
            Some(record) => reassemble(store, &session, record, &options.limits).await?,
            None => to_fetch.push(*image),
        }
    }
    session.end().await;
    for image in to_fetch {
        let fetched = fetch_again(store, &image, options, progress).await;
        repair.advice.extend(fetched.err());
    }
    Ok(repair)
}

/// Writes a record again from its copy, or the copy from its record. Returns advice if neither
/// is possible.
fn repair_record(store: &Store, session: &Session, damage: &Damage) -> io::Result<Option<String>> {
    let layout = &store.layout;
    if let Problem::Dangling(image) = damage.problem {
        let path = layout.image(&image);
        if let Some(bytes) = whole_bytes(&layout.copy(&path)) {
            return session.replace(&path, &bytes).map(|()| None);
        }
    } else if let Some(bytes) = whole_bytes(&other_of(layout, &damage.path)) {
        return session.replace(&damage.path, &bytes).map(|()| None);
    }
    let path = damage.path.display();
    Ok(match damage.role {
        FileRole::Name => Some(format!(
            "{path}: pull or load the image of this name again, or remove the file; until then no image is pruned"
        )),
        FileRole::Origin => Some(format!("{path}: pull or load the image again")),
        // The image is fetched again, which reports its own advice.
        _ => None,
    })
}

/// Writes a manifest or a config again from its copy, or the copy from the file. Returns false if
/// neither is intact.
fn repair_document(store: &Store, session: &Session, path: &Path) -> io::Result<bool> {
    let name = path.file_stem().and_then(OsStr::to_str);
    let Some(digest) = name.and_then(Digest::from_hex) else {
        return Ok(false);
    };
    match documents::read_intact(&other_of(&store.layout, path), &digest)? {
        Some(bytes) => session.replace(path, &bytes).map(|()| true),
        None => Ok(false),
    }
}

/// Makes a tree again from its image, unless the image is damaged too: then both are made again.
async fn repair_tree(store: &Store, session: &Arc<Session>, damage: &Damage) -> io::Result<()> {
    let layout = store.layout.clone();
    let records = damage.images.iter();
    let mut records = records.filter_map(|image| whole_image(&layout, image));
    let erofs = records.find_map(|record| {
        let is_its =
            |erofs: &&ErofsRecord| layout.artifact(&layout::tree_file(&erofs.file)) == damage.path;
        record.erofs_images().find(is_its).cloned()
    });
    let Some(erofs) = erofs else {
        return Ok(());
    };
    let session = Arc::clone(session);
    let made = spawn_blocking(move || match tree::make(&layout, &session, &erofs) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        made => made.map(|_is_right| ()),
    });
    made.await.unwrap_or_else(|error| Err(error.into()))
}

/// Removes a damaged artifact that no image needs, its record first.
fn discard(store: &Store, path: &Path) -> io::Result<()> {
    let name = path.file_name().and_then(|name| name.to_str());
    let key = name.and_then(|name| name.split('.').next());
    let Some(key) = key.and_then(Digest::from_hex) else {
        return remove_file(path);
    };
    let lock = Lock::try_take(&store.layout.artifact_lock(&key), Mode::Exclusive)?;
    // The holder of the lock makes the artifact again.
    let Some(_lock) = lock.map(Lock::unlinked_at_end) else {
        return Ok(());
    };
    remove_file(&store.layout.artifact(&layout::record_file(&key)))?;
    remove_file(path)?;
    durable_files::sync_directory(&store.layout.artifacts())
}

/// Makes the parts of an image other than its layers, unless they are intact.
async fn reassemble(
    store: &Store,
    session: &Arc<Session>,
    image: ImageRecord,
    limits: &Limits,
) -> Result<(), RepairError> {
    let lock = store.layout.artifact_lock(&image.chain_key);
    let lock = Lock::take(&lock, Mode::Exclusive).await?;
    let _lock = lock.unlinked_at_end();
    let (layout, session) = (store.layout.clone(), Arc::clone(session));
    let limits = limits.clone();
    let work = move || {
        for layer in &image.layers {
            repair_layer_record(&layout, &session, layer)?;
        }
        let trust = VerifyMode::Stamp;
        if artifacts::present_chain(&layout, &image.chain_key, &image.layers, trust)?.is_none() {
            let made = assemble(&layout, &session, &image.layers, trust, &limits);
            let image = image.manifest_digest;
            let made = made.map_err(|source| RepairError::Assemble { image, source })?;
            made.publish(&layout, &session)?;
        }
        Ok(())
    };
    let worked = spawn_blocking(work).await;
    worked.unwrap_or_else(|error| Err(io::Error::from(error).into()))
}

/// Writes a layer's record again, from the image's record and the layer's outline, unless it is
/// intact.
fn repair_layer_record(layout: &Layout, session: &Session, layer: &LayerRecord) -> io::Result<()> {
    let path = layout.artifact(&layout::record_file(&layer.diff_id));
    let known = record::read::<LayerFile>(&path).ok().flatten();
    if known.is_some_and(|file| file.is_for(&layer.diff_id) && file.layer == *layer) {
        return Ok(());
    }
    let file = LayerFile {
        packed: PackedRecord::recover(layout, layer)?,
        ..LayerFile::new(layer.clone(), OutlineRecord::recover(layout, layer)?)
    };
    session.replace(&path, &sealed_records::seal(&file)?)
}

/// Pulls the image again from its origin. If the origin is not a registry, returns advice on
/// what to load.
async fn fetch_again(
    store: &Store,
    image: &Digest,
    options: &PullOptions,
    progress: &Arc<dyn Progress>,
) -> Result<(), String> {
    let path = store.layout.origin(image);
    let known = record::read::<OriginFile>(&path).ok().flatten();
    let Some(known) = known.filter(|file| file.is_for(image)) else {
        return Err(format!("pull or load image {image} again"));
    };
    let (name, plain_http) = match &known.origin {
        Origin::Registry {
            reference,
            plain_http,
        } => (reference, *plain_http),
        Origin::Path(path) => return Err(format!("msb load {} again", path.display())),
        Origin::StandardInput => {
            return Err(format!(
                "load image {image} again with msb load; it came from standard input"
            ));
        }
        Origin::Derived { parent } => {
            return Err(format!(
                "make image {image} again of image {parent}; it was made in this store"
            ));
        }
    };
    let reference =
        by_digest(name, image).ok_or_else(|| format!("pull or load image {image} again"))?;
    let pull_options = PullOptions {
        platform: Some(known.platform.clone()),
        plain_http,
        verify: true,
        ..options.clone()
    };
    let target = Target {
        reference: &reference,
        names: &[],
        origin: known.origin.clone(),
    };
    let pulled = pull_target(store, &target, &pull_options, Arc::clone(progress)).await;
    pulled.map(drop).map_err(|error| line(&error))
}

/// Returns the path of the record with the same content: the copy of the record at `path`, or the
/// record that it is a copy of.
fn other_of(layout: &Layout, path: &Path) -> PathBuf {
    match path.strip_prefix(layout.copies()) {
        Ok(relative) => layout.below(relative),
        Err(_) => layout.copy(path),
    }
}

/// Returns the bytes of a record with a valid seal; `None` if the seal is not valid.
fn whole_bytes(path: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(path).ok()?;
    sealed_records::open::<serde_json::Value>(&bytes).ok()?;
    Some(bytes)
}

/// Returns the name of this image, by digest, in the repository of `name`.
fn by_digest(name: &str, image: &Digest) -> Option<Reference> {
    let name: Reference = name.parse().ok()?;
    let (registry, repository) = (name.registry(), name.repository());
    format!("{registry}/{repository}@{image}").parse().ok()
}

/// Returns an error and its causes on one line.
fn line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    line
}
