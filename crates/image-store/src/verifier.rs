mod erofs;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use oci_image::{Digest, Reference};
use serde::de::DeserializeOwned;

use super::FindError;
use super::Store;
use super::documents;
use super::layout::{self, Layout};
use super::origin::OriginFile;
use super::record::{self, ChainFile, ImageRecord, LayerFile, LayerRecord, ReferenceFile};
use super::stamp::{self, VerifyMode};
use super::verification::{Damage, FileRole, Problem, Verification, VerifyError};
use crate::checksum::Checksum;
use crate::progress::{Event, Progress};

/// A verification in progress.
pub(super) struct Verifier<'a> {
    layout: &'a Layout,
    trust: VerifyMode,
    progress: &'a dyn Progress,
    damages: BTreeMap<PathBuf, Damage>,
    /// Results by the artifact's file name.
    seen: BTreeMap<String, Option<Problem>>,
    files: BTreeSet<PathBuf>,
    bytes: u64,
}

impl<'a> Verifier<'a> {
    pub(super) fn new(layout: &'a Layout, trust: VerifyMode, progress: &'a dyn Progress) -> Self {
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

    pub(super) fn end(self, digests: Vec<Digest>) -> Verification {
        Verification {
            images: digests.into_iter().collect(),
            files: self.files.len(),
            bytes: self.bytes,
            damages: self.damages.into_values().collect(),
        }
    }

    /// Verifies the records of an image's layers and of its disk.
    pub(super) fn chain_records_of(&mut self, image: &ImageRecord) {
        for layer in &image.layers {
            self.layer_record(layer, image);
        }
        self.chain_record(image);
    }

    /// Verifies an image's own records: the image, its origin and its names.
    pub(super) fn image_records_of(&mut self, image: &ImageRecord) {
        self.image_records(&[image.manifest_digest]);
        for name in &image.references {
            if let Ok(name) = name.parse::<Reference>() {
                self.name(&self.layout.reference(&name), None);
            }
        }
    }

    fn layer_record(&mut self, layer: &LayerRecord, image: &ImageRecord) {
        let path = self.layout.artifact(&layout::record_file(&layer.diff_id));
        let is_right = |file: &LayerFile| file.layer == *layer;
        let problem = problem(&path, is_right);
        let image = Some(&image.manifest_digest);
        self.note(path, FileRole::LayerRecord, problem, image);
    }

    /// Returns the images with these names. A damaged name counts as damage, not as an error.
    pub(super) fn resolve(
        &mut self,
        store: &Store,
        names: &[String],
    ) -> Result<Vec<Digest>, VerifyError> {
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

    /// Verifies the records of these images and of their origins. Returns the images' records, from
    /// the copies where necessary.
    pub(super) fn image_records(&mut self, digests: &[Digest]) -> Vec<ImageRecord> {
        let mut records = Vec::new();
        for digest in digests {
            let path = self.layout.image(digest);
            let is_right = |record: &ImageRecord| record.is_consistent(digest);
            self.kept(&path, FileRole::Image, Some(digest), is_right);
            let is_right = |file: &OriginFile| file.is_for(digest);
            self.kept(
                &self.layout.origin(digest),
                FileRole::Origin,
                Some(digest),
                is_right,
            );
            records.extend(whole_image(self.layout, digest));
        }
        records
    }

    pub(super) fn announce(&self, records: &[ImageRecord]) {
        let artifacts: BTreeMap<&str, u64> = records
            .iter()
            .flat_map(ImageRecord::erofs_images)
            .map(|erofs| (erofs.file.as_str(), erofs.size_bytes))
            .collect();
        let bytes = artifacts.values().sum();
        self.progress.event(&Event::Verifying { bytes });
    }

    pub(super) fn artifacts_of(&mut self, record: &ImageRecord) {
        self.documents_of(record);
        let image = Some(&record.manifest_digest);
        for layer in &record.layers {
            self.erofs(&layer.erofs, FileRole::Layer, image);
            self.layer_record(layer, record);
            self.outline_of(layer, image);
        }
        self.erofs(&record.fsmeta, FileRole::Disk, image);
        self.artifact(
            &record.vmdk.file,
            &record.vmdk.blake3,
            FileRole::Disk,
            image,
        );
        self.chain_record(record);
    }

    /// Verifies a layer's outline, unless the layer's record is damaged or knows of none.
    fn outline_of(&mut self, layer: &LayerRecord, image: Option<&Digest>) {
        let path = self.layout.artifact(&layout::record_file(&layer.diff_id));
        let file = record::read::<LayerFile>(&path).ok().flatten();
        let file = file.filter(|file| file.is_for(&layer.diff_id));
        if let Some(outline) = file.and_then(|file| file.outline) {
            let role = FileRole::Outline;
            self.artifact(&outline.file, &outline.blake3, role, image);
        }
    }

    /// Verifies an image's manifest and config, and the copies of both.
    fn documents_of(&mut self, record: &ImageRecord) {
        if !record.has_documents {
            return;
        }
        let image = &record.manifest_digest;
        let (manifest, config) = (image, &record.config_digest);
        self.document(layout::manifest_file(manifest), manifest, image);
        self.document(layout::config_file(config), config, image);
    }

    fn document(&mut self, file: String, expected: &Digest, image: &Digest) {
        let path = self.layout.artifact(&file);
        for path in [self.layout.copy(&path), path] {
            let problem = match documents::read_intact(&path, expected) {
                Ok(Some(_)) => None,
                Ok(None) if matches!(fs::exists(&path), Ok(false)) => Some(Problem::Missing),
                Ok(None) => Some(Problem::Changed),
                Err(error) => Some(unreadable(&error)),
            };
            self.note(path, FileRole::Document, problem, Some(image));
        }
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
        self.note(
            path.clone(),
            FileRole::Disk,
            problem(&path, is_right),
            image,
        );
    }

    /// Verifies an artifact. It is digested once, however many images need it.
    fn artifact(&mut self, file: &str, blake3: &Checksum, role: FileRole, image: Option<&Digest>) {
        let problem = match self.seen.get(file) {
            Some(problem) => problem.clone(),
            None => {
                let problem = match stamp::prove(self.layout, file, blake3, self.trust) {
                    Ok(true) => None,
                    Ok(false) => Some(Problem::Changed),
                    Err(error) => Some(unreadable(&error)),
                };
                self.see(file, problem.clone());
                problem
            }
        };
        self.note(self.layout.artifact(file), role, problem, image);
    }

    /// Records the result of an artifact.
    fn see(&mut self, file: &str, problem: Option<Problem>) {
        let size = fs::metadata(self.layout.artifact(file)).map(|file| file.len());
        let bytes = size.unwrap_or(0);
        self.bytes += bytes;
        self.progress.event(&Event::VerifiedBytes { bytes });
        self.seen.insert(file.to_owned(), problem);
    }

    /// Verifies the names of these images, or all names.
    pub(super) fn names(&mut self, store: &Store, of: Option<&[Digest]>) -> io::Result<()> {
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
            if let Some(digest) =
                digest.filter(|digest| matches!(fs::exists(self.layout.image(digest)), Ok(false)))
            {
                let dangling = Some(Problem::Dangling(digest));
                self.note(path, FileRole::Name, dangling, Some(&digest));
            }
        }
        Ok(())
    }

    fn name(&mut self, path: &Path, image: Option<&Digest>) {
        let layout = self.layout;
        self.kept(path, FileRole::Name, image, |file: &ReferenceFile| {
            let reference = file.reference.parse::<Reference>();
            reference.is_ok_and(|reference| layout.reference(&reference) == path)
        });
    }

    /// Verifies a record that is written twice, and its copy.
    fn kept<T: DeserializeOwned>(
        &mut self,
        path: &Path,
        role: FileRole,
        image: Option<&Digest>,
        is_right: impl Fn(&T) -> bool,
    ) {
        for path in [path.to_owned(), self.layout.copy(path)] {
            let problem = problem(&path, &is_right);
            self.note(path, role, problem, image);
        }
    }

    /// Verifies the artifacts of interrupted or removed images that have a record, because the next
    /// pull would use them.
    pub(super) fn unneeded(&mut self) -> io::Result<()> {
        for path in list(&self.layout.artifacts())? {
            let name = path.file_name().and_then(OsStr::to_str);
            if !name.is_some_and(layout::is_record_file) || self.files.contains(&path) {
                continue;
            }
            let role = FileRole::Unneeded;
            if let Ok(Some(layer)) = record::read::<LayerFile>(&path) {
                self.erofs(&layer.layer.erofs, role, None);
                if let Some(outline) = layer.outline {
                    self.artifact(&outline.file, &outline.blake3, role, None);
                }
            } else if let Ok(Some(chain)) = record::read::<ChainFile>(&path) {
                self.erofs(&chain.fsmeta, role, None);
                self.artifact(&chain.vmdk.file, &chain.vmdk.blake3, role, None);
            } else if !matches!(fs::exists(&path), Ok(false)) {
                self.note(path, role, Some(Problem::Changed), None);
            }
        }
        Ok(())
    }

    fn note(
        &mut self,
        path: PathBuf,
        role: FileRole,
        problem: Option<Problem>,
        image: Option<&Digest>,
    ) {
        self.files.insert(path.clone());
        let Some(problem) = problem else { return };
        let damage = self.damages.entry(path.clone()).or_insert(Damage {
            path,
            role,
            problem,
            images: BTreeSet::new(),
        });
        damage.images.extend(image);
    }
}

/// Returns an image's record, or its copy if only that is intact; `None` if both are damaged.
pub fn whole_image(layout: &Layout, manifest: &Digest) -> Option<ImageRecord> {
    let path = layout.image(manifest);
    [layout.copy(&path), path].iter().rev().find_map(|path| {
        let record = record::read::<ImageRecord>(path).ok().flatten();
        record.filter(|record| record.is_consistent(manifest))
    })
}

/// Returns the problem with a record; `None` if it is intact.
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

/// Returns the files of a directory, in order.
fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
