use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use fs_err as fs;
use oci_image::{Digest, HEX_DIGITS, Platform, Reference, excerpt};

use super::Store;
use super::form::{disk_bytes, distinct};
use super::record::{self, ImageRecord, ReferenceFile, StoredImage};

/// Fewest hexadecimal digits that select an image.
const PREFIX_MIN_DIGITS: usize = 6;

/// Hint for a damaged store.
pub(crate) const REPAIR_HINT: &str = "repair the store with msb image verify --repair";

/// A name of an image, or an image without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSummary {
    /// Name in docker's short form; `None` if the image has no name.
    pub reference: Option<String>,
    /// Digest of the manifest.
    pub digest: Digest,
    /// Platform that the image runs on.
    pub platform: Platform,
    /// Number of layers; a layer that is listed twice counts twice.
    pub layer_count: usize,
    /// Length of its artifacts in their plain forms, in bytes. Other images may share layers.
    pub size_bytes: u64,
    /// Space of its artifacts in the forms that they have, cache files included, in bytes.
    pub disk_bytes: u64,
    /// When it was made, as its config says: RFC 3339 if it keeps to the standard, and any text if not.
    pub created: Option<String>,
}

/// An error while an image is looked up.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The store cannot be read.
    #[error("cannot read the store")]
    Io(#[from] io::Error),
    /// No image has this name or digest.
    #[error("image '{name}' is not in the store")]
    NotFound {
        /// Requested name, shortened and escaped.
        name: String,
    },
    /// The image under the name is for another platform; a name leads to one image.
    #[error("image '{name}' in the store is for {actual}, not for {wanted}")]
    OtherPlatform {
        /// Requested name, shortened and escaped.
        name: String,
        /// Requested platform.
        wanted: Box<Platform>,
        /// The image's own platform.
        actual: Box<Platform>,
    },
    /// The digests of several images begin with the given digits.
    #[error("'{name}' is ambiguous: the digests of {count} images begin with it")]
    Ambiguous {
        /// Requested digits.
        name: String,
        /// Number of images.
        count: usize,
    },
}

impl FindError {
    /// Returns true if a pull may bring the image that was not found.
    pub const fn is_of_absence(&self) -> bool {
        matches!(self, Self::NotFound { .. } | Self::OtherPlatform { .. })
    }
}

impl Diagnose for FindError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::NotFound { name } => {
                let list = "list the images in the store with msb images";
                // A digest alone does not say where the image can be had.
                let hint = if name.starts_with("sha256:") {
                    list.to_owned()
                } else {
                    format!("download it with msb pull {name}, or {list}")
                };
                Diagnosis::new(ErrorKind::ImageNotFound)
                    .detail("name", name)
                    .hint(hint)
            }
            Self::OtherPlatform { name, wanted, .. } => Diagnosis::new(ErrorKind::ImageNotFound)
                .detail("name", name)
                .hint(format!(
                    "download the other with msb pull --platform {wanted} {name}, or leave out \
                     --platform"
                )),
            Self::Ambiguous { name, .. } => Diagnosis::new(ErrorKind::InvalidArgument)
                .detail("name", name)
                .hint("give more digits of the digest"),
            Self::Io(source) if source.kind() == io::ErrorKind::InvalidData => {
                source.diagnosis().hint(REPAIR_HINT)
            }
            Self::Io(source) => source.diagnosis(),
        }
    }
}

impl Store {
    /// Returns every image, once for each of its names, sorted by name and digest.
    ///
    /// # Errors
    /// If the store cannot be read or one of its records is damaged.
    pub fn images(&self) -> io::Result<Vec<ImageSummary>> {
        let names = self.names()?;
        let mut summaries = Vec::new();
        for digest in self.digests()? {
            let Some(record) = record::read_image(&self.layout, &digest)? else {
                continue;
            };
            let disk_bytes = self.disk_bytes(&record)?;
            let summary = ImageSummary {
                reference: None,
                digest,
                platform: record.platform,
                layer_count: record.layers.len(),
                size_bytes: record.size_bytes,
                disk_bytes,
                created: record.created,
            };
            match names.get(&digest) {
                None => summaries.push(summary),
                Some(names) => summaries.extend(names.iter().map(|name| ImageSummary {
                    reference: Some(name.familiar()),
                    ..summary.clone()
                })),
            }
        }
        summaries.sort_by(|a, b| (&a.reference, a.digest).cmp(&(&b.reference, b.digest)));
        Ok(summaries)
    }

    /// Returns the space of an image's artifacts in the forms that they have, cache files included, in bytes.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn disk_bytes(&self, image: &ImageRecord) -> io::Result<u64> {
        let mut bytes = image.fsmeta.size_bytes + image.vmdk.size_bytes;
        for layer in distinct(image) {
            bytes += disk_bytes(&self.layout, &layer.erofs)?;
        }
        Ok(bytes)
    }

    /// Returns the image with this name, in full or in docker's short form, with this digest, or
    /// with the only digest that begins with these six or more hexadecimal digits.
    ///
    /// # Errors
    /// If there is no such image or more than one, or the store cannot be read.
    pub fn find(&self, name_or_digest: &str) -> Result<StoredImage, FindError> {
        let (_, digest) = self.resolve(name_or_digest)?;
        self.stored(&digest)?
            .ok_or_else(|| not_found(name_or_digest))
    }

    /// Returns the image as [`Self::find`] does, with its name if it was found by name.
    ///
    /// # Errors
    /// Fails as [`Self::find`] does.
    pub fn find_named(
        &self,
        name_or_digest: &str,
    ) -> Result<(Option<Reference>, StoredImage), FindError> {
        let (reference, digest) = self.resolve(name_or_digest)?;
        let image = self.stored(&digest)?;
        let image = image.ok_or_else(|| not_found(name_or_digest))?;
        Ok((reference, image))
    }

    /// Returns the image, unless it is not for the wanted platform.
    ///
    /// # Errors
    /// Fails as [`Self::find`] does, or if the image is for another platform.
    pub fn find_for(
        &self,
        name_or_digest: &str,
        wanted: Option<&Platform>,
    ) -> Result<StoredImage, FindError> {
        let image = self.find(name_or_digest)?;
        match wanted.filter(|wanted| !wanted.takes(&image.record.platform)) {
            None => Ok(image),
            Some(wanted) => Err(FindError::OtherPlatform {
                name: excerpt(name_or_digest),
                wanted: Box::new(wanted.clone()),
                actual: Box::new(image.record.platform),
            }),
        }
    }

    /// Returns the image's digest, and the name if the image was found by name.
    pub(crate) fn resolve(&self, text: &str) -> Result<(Option<Reference>, Digest), FindError> {
        // A whole digest is one, also if an archive has given an image a name of this form.
        if let Ok(digest) = text.parse::<Digest>()
            && fs::exists(self.layout.image(&digest))?
        {
            return Ok((None, digest));
        }
        if let Ok(reference) = text.parse::<Reference>()
            && let Some(file) = record::read::<ReferenceFile>(&self.layout.reference(&reference))?
            && fs::exists(self.layout.image(&file.manifest_digest))?
        {
            return Ok((Some(reference), file.manifest_digest));
        }
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        if !(PREFIX_MIN_DIGITS..=HEX_DIGITS).contains(&digits.len()) {
            return Err(not_found(text));
        }
        let digests = self.digests()?;
        let matching: Vec<&Digest> = digests
            .iter()
            .filter(|digest| digest.hex().starts_with(digits))
            .collect();
        match matching[..] {
            [] => Err(not_found(text)),
            [&digest] => Ok((None, digest)),
            _ => Err(FindError::Ambiguous {
                name: excerpt(text),
                count: matching.len(),
            }),
        }
    }

    /// Returns the image whose manifest has this digest; `None` if it does not exist.
    pub(crate) fn stored(&self, manifest: &Digest) -> io::Result<Option<StoredImage>> {
        let Some(mut record) = record::read_image(&self.layout, manifest)? else {
            return Ok(None);
        };
        let names = self.names()?.remove(manifest).unwrap_or_default();
        record.references = names.iter().map(Reference::to_string).collect();
        Ok(Some(StoredImage::new(&self.layout, record)))
    }

    /// Returns all readable names in order, by the digest that they refer to.
    pub(crate) fn names(&self) -> io::Result<BTreeMap<Digest, Vec<Reference>>> {
        Ok(self.all_names()?.by_digest)
    }

    /// Returns all names. A damaged one is read from its copy.
    pub(crate) fn all_names(&self) -> io::Result<Names> {
        let mut names = Names::default();
        for entry in fs::read_dir(self.layout.references())? {
            let path = entry?.path();
            match self.name_at(&path)? {
                NameRead::Missing => {}
                // Damage to one name does not hide the others.
                NameRead::Damaged => names.unreadable.push(path),
                NameRead::Read(digest, reference) => {
                    let of_image = names.by_digest.entry(digest).or_default();
                    of_image.push(reference);
                }
            }
        }
        names.by_digest.values_mut().for_each(|names| names.sort());
        names.unreadable.sort();
        Ok(names)
    }

    /// Reads the name in a file, or in its copy if the file is damaged.
    fn name_at(&self, path: &Path) -> io::Result<NameRead> {
        for path in [path, &self.layout.copy(path)] {
            let file = match record::read::<ReferenceFile>(path) {
                Ok(Some(file)) => file,
                // The name was removed meanwhile; a copy alone is what a removal has left.
                Ok(None) if !path.starts_with(self.layout.copies()) => {
                    return Ok(NameRead::Missing);
                }
                Ok(None) => continue,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => continue,
                Err(error) => return Err(error),
            };
            if let Ok(reference) = file.reference.parse() {
                return Ok(NameRead::Read(file.manifest_digest, reference));
            }
        }
        Ok(NameRead::Damaged)
    }

    /// Returns the digests of all images, in order.
    pub(crate) fn digests(&self) -> io::Result<Vec<Digest>> {
        let mut digests = Vec::new();
        for entry in fs::read_dir(self.layout.images())? {
            let name = entry?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".json"));
            digests.extend(stem.and_then(Digest::from_hex));
        }
        digests.sort();
        Ok(digests)
    }
}

/// The names of the images of a store.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Names in order, by the digest that they refer to.
    pub(crate) by_digest: BTreeMap<Digest, Vec<Reference>>,
    /// Files of names that are damaged, and so are their copies.
    pub(crate) unreadable: Vec<PathBuf>,
}

/// The reading of a name.
enum NameRead {
    Missing,
    Damaged,
    Read(Digest, Reference),
}

fn not_found(name: &str) -> FindError {
    FindError::NotFound {
        name: excerpt(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prune::{PruneError, PruneOptions, Pruning};

    #[test]
    fn a_damaged_name_is_read_from_its_copy_and_one_without_a_copy_ends_a_prune() {
        let home = tempfile::tempdir().expect("a directory");
        let store = Store::open(home.path()).expect("opened");
        let name: Reference = "debian:12".parse().expect("a name");
        let digest = Digest::compute(b"manifest");
        let file = ReferenceFile {
            reference: name.canonical().to_string(),
            manifest_digest: digest,
        };
        let sealed = sealed_records::seal(&file).expect("sealed");
        let path = store.layout.reference(&name);
        let copy = store.layout.copy(&path);
        fs::write(&copy, &sealed).expect("written");
        let prune = |images| {
            let options = PruneOptions {
                images,
                dry_run: true,
                ..PruneOptions::default()
            };
            store.prune(&options, &|_| Ok(false))
        };
        for index in 0..sealed.len() {
            let mut flipped = sealed.clone();
            flipped[index] ^= 1;
            fs::write(&path, &flipped).expect("written");
            let names = store.all_names().expect("read");
            assert_eq!(names.by_digest[&digest], [name.canonical()], "byte {index}");
            assert!(names.unreadable.is_empty());
        }
        prune(Pruning::Unnamed).expect("every name is known");
        fs::write(&copy, &sealed[1..]).expect("written");
        assert_eq!(
            store.all_names().expect("read").unreadable,
            std::slice::from_ref(&path)
        );
        for images in [Pruning::Unnamed, Pruning::All] {
            let refused = prune(images).expect_err("a name is unknown");
            assert!(
                matches!(refused, PruneError::UnreadableName { .. }),
                "{refused}"
            );
        }
        prune(Pruning::None).expect("no image is to go");
        fs::remove_file(&path).expect("removed");
        assert!(store.all_names().expect("read").unreadable.is_empty());
    }
}
