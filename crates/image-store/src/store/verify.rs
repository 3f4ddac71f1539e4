use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err as fs;
use serde::de::DeserializeOwned;

use super::layout::{self, Layout};
use super::lock::{Lock, Mode};
use super::origin::OriginFile;
use super::record::{self, ChainFile, ImageRecord, LayerFile, ReferenceFile};
use super::stamp::{self, Trust};
use super::{FindError, Store};
use crate::digest::Digest;
use crate::progress::{Event, Progress};
use crate::reference::Reference;

/// How long a verification waits for a removal to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a verification found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// The images that were looked at.
    pub images: BTreeSet<Digest>,
    /// How many files were.
    pub files: usize,
    /// Length of the artifacts that were digested, in bytes.
    pub bytes: u64,
    /// What is damaged, in order of path.
    pub damages: Vec<Damage>,
}

/// A file of the store that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// What it is.
    pub part: Part,
    /// What is wrong with it.
    pub problem: Problem,
    /// The images that need it.
    pub images: BTreeSet<Digest>,
}

/// What a file is to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// A name, or the copy of one.
    Name,
    /// An image's record, or the copy of one.
    Image,
    /// The record of where an image is from, or the copy of one.
    Origin,
    /// A layer.
    Layer,
    /// A layer's record.
    LayerRecord,
    /// Metadata, descriptor, or the record of both.
    Disk,
    /// Something that no image needs.
    Unneeded,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It is not there.
    #[error("it is missing")]
    Missing,
    /// It has another content.
    #[error("its content is not what was written")]
    Changed,
    /// It names an image that is not there.
    #[error("it names image {0}, which is not there")]
    Dangling(Digest),
    /// The host gives an error instead of its content.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

/// Why a store was not verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// There is no such image.
    #[error("cannot verify the image")]
    Find(#[from] FindError),
    /// The store's directories cannot be read.
    #[error("cannot read the store")]
    Io(#[from] io::Error),
    /// A removal does not end.
    #[error("a removal is under way")]
    Busy,
}

impl Store {
    /// Compares files with what was recorded when they were written: those of the images that are
    /// named, or all that the store has, by digest or as [`Trust`] says.
    ///
    /// # Errors
    /// When an image is not found or a directory cannot be listed. Damage is no error.
    pub fn verify(
        &self,
        names: &[String],
        trust: Trust,
        progress: &dyn Progress,
    ) -> Result<Verification, VerifyError> {
        let mut look = Look::new(&self.layout, trust, progress);
        let all = names.is_empty();
        let _no_removal = self.no_removal()?;
        let digests = if all {
            self.digests()?
        } else {
            look.resolve(self, names)?
        };
        let records = look.image_records(&digests);
        look.announce(&records);
        let is_complete = records.len() == digests.len();
        for record in &records {
            look.artifacts_of(record);
        }
        look.names(self, (!all).then_some(&digests[..]))?;
        if all && is_complete {
            look.unneeded()?;
        }
        Ok(look.end(digests))
    }

    /// Keeps removals away.
    pub(crate) fn no_removal(&self) -> Result<Lock, VerifyError> {
        let lock = Lock::take_within(&self.layout.store_lock(), Mode::Shared, PATIENCE)?;
        lock.ok_or(VerifyError::Busy)
    }

    /// Every record of the image that is not what was written: its own, of its origin, of its
    /// names, of its layers and of its disk.
    pub(crate) fn damaged_records(&self, image: &ImageRecord) -> io::Result<Vec<PathBuf>> {
        let mut look = Look::new(&self.layout, Trust::Stamp, &());
        look.image_records(&[image.manifest_digest]);
        for layer in &image.layers {
            let path = self.layout.artifact(&layout::record_file(&layer.diff_id));
            let is_right = |file: &LayerFile| file.layer == *layer;
            look.note(
                path.clone(),
                Part::LayerRecord,
                problem(&path, is_right),
                None,
            );
        }
        look.chain_record(image);
        for name in &image.references {
            if let Ok(name) = name.parse::<Reference>() {
                look.name(&self.layout.reference(&name), None);
            }
        }
        Ok(look.damages.into_keys().collect())
    }
}

/// A verification at work.
struct Look<'a> {
    layout: &'a Layout,
    trust: Trust,
    progress: &'a dyn Progress,
    damages: BTreeMap<PathBuf, Damage>,
    /// Artifacts by file name.
    seen: BTreeMap<String, Option<Problem>>,
    files: BTreeSet<PathBuf>,
    bytes: u64,
}

impl<'a> Look<'a> {
    fn new(layout: &'a Layout, trust: Trust, progress: &'a dyn Progress) -> Self {
        Self {
            layout,
            trust,
            progress,
            damages: BTreeMap::new(),
            seen: BTreeMap::new(),
            files: BTreeSet::new(),
            bytes: 0,
        }
    }

    fn end(self, digests: Vec<Digest>) -> Verification {
        Verification {
            images: digests.into_iter().collect(),
            files: self.files.len(),
            bytes: self.bytes,
            damages: self.damages.into_values().collect(),
        }
    }

    /// The images of these names; a damaged name is damage, not an error.
    fn resolve(&mut self, store: &Store, names: &[String]) -> Result<Vec<Digest>, VerifyError> {
        let mut digests = BTreeSet::new();
        for name in names {
            match store.resolve(name) {
                Ok((_, digest)) => _ = digests.insert(digest),
                Err(FindError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                    if let Ok(reference) = name.parse::<Reference>() {
                        let path = self.layout.reference(&reference);
                        self.name(&path, None);
                        let copy = record::read::<ReferenceFile>(&self.layout.copy(&path));
                        digests.extend(copy.ok().flatten().map(|file| file.manifest_digest));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(digests.into_iter().collect())
    }

    /// The records of these images, from their copies where need be; of their origins too.
    fn image_records(&mut self, digests: &[Digest]) -> Vec<ImageRecord> {
        let mut records = Vec::new();
        for digest in digests {
            let path = self.layout.image(digest);
            let is_right = |record: &ImageRecord| record.is_consistent(digest);
            self.kept(&path, Part::Image, Some(digest), is_right);
            let is_right = |file: &OriginFile| file.is_for(digest);
            self.kept(
                &self.layout.origin(digest),
                Part::Origin,
                Some(digest),
                is_right,
            );
            records.extend(whole_image(self.layout, digest));
        }
        records
    }

    fn announce(&self, records: &[ImageRecord]) {
        let artifacts: BTreeMap<&str, u64> = records
            .iter()
            .flat_map(|record| {
                let layers = record.layers.iter().map(|layer| &layer.erofs);
                layers.chain([&record.fsmeta])
            })
            .map(|erofs| (erofs.file.as_str(), erofs.size_bytes))
            .collect();
        let bytes = artifacts.values().sum();
        self.progress.event(&Event::Verifying { bytes });
    }

    fn artifacts_of(&mut self, record: &ImageRecord) {
        let image = Some(&record.manifest_digest);
        for layer in &record.layers {
            let erofs = &layer.erofs;
            self.artifact(&erofs.file, &erofs.sha256, Part::Layer, image);
            let path = self.layout.artifact(&layout::record_file(&layer.diff_id));
            let is_right = |file: &LayerFile| file.layer == *layer;
            self.note(
                path.clone(),
                Part::LayerRecord,
                problem(&path, is_right),
                image,
            );
        }
        self.artifact(
            &record.fsmeta.file,
            &record.fsmeta.sha256,
            Part::Disk,
            image,
        );
        self.artifact(&record.vmdk.file, &record.vmdk.sha256, Part::Disk, image);
        self.chain_record(record);
    }

    fn chain_record(&mut self, record: &ImageRecord) {
        let path = self
            .layout
            .artifact(&layout::record_file(&record.chain_key));
        let is_right = |file: &ChainFile| {
            file.is_for(&record.chain_key, &record.layers)
                && (&file.fsmeta, &file.vmdk) == (&record.fsmeta, &record.vmdk)
        };
        let image = Some(&record.manifest_digest);
        self.note(path.clone(), Part::Disk, problem(&path, is_right), image);
    }

    /// An artifact, digested once however many images need it.
    fn artifact(&mut self, file: &str, sha256: &Digest, part: Part, image: Option<&Digest>) {
        let problem = match self.seen.get(file) {
            Some(problem) => problem.clone(),
            None => {
                let size = fs::metadata(self.layout.artifact(file)).map(|file| file.len());
                let bytes = size.unwrap_or(0);
                let problem = match stamp::prove(self.layout, file, sha256, self.trust) {
                    Ok(true) => None,
                    Ok(false) => Some(Problem::Changed),
                    Err(error) => Some(unreadable(&error)),
                };
                self.bytes += bytes;
                self.progress.event(&Event::VerifiedBytes { bytes });
                self.seen.insert(file.to_owned(), problem.clone());
                problem
            }
        };
        self.note(self.layout.artifact(file), part, problem, image);
    }

    /// Names of these images, or all names.
    fn names(&mut self, store: &Store, of: Option<&[Digest]>) -> io::Result<()> {
        let paths: Vec<PathBuf> = match of {
            None => list(&self.layout.references())?,
            Some(digests) => {
                let mut names = store.names()?;
                let names = digests.iter().filter_map(|digest| names.remove(digest));
                names
                    .flatten()
                    .map(|name| self.layout.reference(&name))
                    .collect()
            }
        };
        for path in paths {
            let named = record::read::<ReferenceFile>(&path).ok().flatten();
            let digest = named.map(|file| file.manifest_digest);
            self.name(&path, digest.as_ref());
            if let Some(digest) = digest.filter(|digest| !self.layout.image(digest).exists()) {
                let dangling = Some(Problem::Dangling(digest));
                self.note(path, Part::Name, dangling, Some(&digest));
            }
        }
        Ok(())
    }

    fn name(&mut self, path: &Path, image: Option<&Digest>) {
        let layout = self.layout;
        self.kept(path, Part::Name, image, |file: &ReferenceFile| {
            let reference = file.reference.parse::<Reference>();
            reference.is_ok_and(|reference| layout.reference(&reference) == path)
        });
    }

    /// A record that is written twice.
    fn kept<T: DeserializeOwned>(
        &mut self,
        path: &Path,
        part: Part,
        image: Option<&Digest>,
        is_right: impl Fn(&T) -> bool,
    ) {
        for path in [path.to_owned(), self.layout.copy(path)] {
            let problem = problem(&path, &is_right);
            self.note(path, part, problem, image);
        }
    }

    /// Artifacts of interrupted or removed images, as far as a record vouches for them: the next
    /// pull would use them.
    fn unneeded(&mut self) -> io::Result<()> {
        for path in list(&self.layout.artifacts())? {
            let is_record = path
                .extension()
                .is_some_and(|extension| extension == "json");
            if !is_record || self.files.contains(&path) {
                continue;
            }
            let part = Part::Unneeded;
            if let Ok(Some(layer)) = record::read::<LayerFile>(&path) {
                let erofs = layer.layer.erofs;
                self.artifact(&erofs.file, &erofs.sha256, part, None);
            } else if let Ok(Some(chain)) = record::read::<ChainFile>(&path) {
                self.artifact(&chain.fsmeta.file, &chain.fsmeta.sha256, part, None);
                self.artifact(&chain.vmdk.file, &chain.vmdk.sha256, part, None);
            } else if path.exists() {
                self.note(path, part, Some(Problem::Changed), None);
            }
        }
        Ok(())
    }

    fn note(
        &mut self,
        path: PathBuf,
        part: Part,
        problem: Option<Problem>,
        image: Option<&Digest>,
    ) {
        self.files.insert(path.clone());
        let Some(problem) = problem else { return };
        let damage = self.damages.entry(path.clone()).or_insert(Damage {
            path,
            part,
            problem,
            images: BTreeSet::new(),
        });
        damage.images.extend(image);
    }
}

/// The image's record, or its copy where only that is whole.
pub(crate) fn whole_image(layout: &Layout, manifest: &Digest) -> Option<ImageRecord> {
    let path = layout.image(manifest);
    [layout.copy(&path), path].iter().rev().find_map(|path| {
        let record = record::read::<ImageRecord>(path).ok().flatten();
        record.filter(|record| record.is_consistent(manifest))
    })
}

/// What is wrong with a record.
fn problem<T: DeserializeOwned>(path: &Path, is_right: impl Fn(&T) -> bool) -> Option<Problem> {
    match record::read::<T>(path) {
        Ok(Some(record)) if is_right(&record) => None,
        Ok(Some(_)) => Some(Problem::Changed),
        Ok(None) => Some(Problem::Missing),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Some(Problem::Changed),
        Err(error) => Some(unreadable(&error)),
    }
}

fn unreadable(error: &io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::NotFound => Problem::Missing,
        _ => Problem::Unreadable(error.to_string()),
    }
}

/// The files of a directory, in order.
fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
