use std::collections::BTreeMap;
use std::io;

use fs_err as fs;

use super::Store;
use super::record::{self, ReferenceFile, StoredImage};
use crate::digest::{Digest, HEX_DIGITS};
use crate::platform::Platform;
use crate::reference::Reference;
use crate::text::excerpt;

/// Fewest hexadecimal digits that name an image.
const PREFIX_MIN_DIGITS: usize = 6;

/// What mends a store.
pub(crate) const REPAIR_HINT: &str =
    "msb image verify --repair mends what is damaged, or says how to";

/// One name of one image, or one image without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSummary {
    /// Its name as docker shows it, if it has one.
    pub reference: Option<String>,
    /// The digest of its manifest.
    pub digest: Digest,
    /// What it runs on.
    pub platform: Platform,
    /// How many layers it has.
    pub layer_count: usize,
    /// Length of its artifacts, in bytes. Layers may serve other images too.
    pub size_bytes: u64,
}

/// Why an image was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The store cannot be read.
    #[error("cannot read the store")]
    Io(#[from] io::Error),
    /// No image has this name or digest.
    #[error("no image '{name}' in the store")]
    NotFound {
        /// What was asked for, cut and escaped.
        name: String,
    },
    /// Several images have digests that begin so.
    #[error("'{name}' is the beginning of {count} images' digests")]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// How many there are.
        count: usize,
    },
}

impl FindError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound { name } => {
                Some(format!("msb pull {name}, or msb images for those here"))
            }
            Self::Ambiguous { .. } => Some("give more of the digest".to_owned()),
            Self::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                Some(REPAIR_HINT.to_owned())
            }
            Self::Io(_) => None,
        }
    }
}

impl Store {
    /// Every image, once for each of its names, in order of name and digest.
    ///
    /// # Errors
    /// When the store cannot be read or one of its records is broken.
    pub fn images(&self) -> io::Result<Vec<ImageSummary>> {
        let names = self.names()?;
        let mut summaries = Vec::new();
        for digest in self.digests()? {
            let Some(record) = record::read_image(&self.layout, &digest)? else {
                continue;
            };
            let summary = ImageSummary {
                reference: None,
                digest,
                platform: record.platform,
                layer_count: record.layers.len(),
                size_bytes: record.size_bytes,
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

    /// The image of this name, in full or as docker shortens it, of this digest, or of the only
    /// digest that begins with these six or more hexadecimal digits.
    ///
    /// # Errors
    /// When there is none or more than one, or the store cannot be read.
    pub fn find(&self, name_or_digest: &str) -> Result<StoredImage, FindError> {
        let (_, digest) = self.resolve(name_or_digest)?;
        self.stored(&digest)?
            .ok_or_else(|| not_found(name_or_digest))
    }

    /// The image's digest, and the name if it was found by one.
    pub(crate) fn resolve(&self, text: &str) -> Result<(Option<Reference>, Digest), FindError> {
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

    /// The image whose manifest has this digest.
    pub(crate) fn stored(&self, manifest: &Digest) -> io::Result<Option<StoredImage>> {
        let Some(mut record) = record::read_image(&self.layout, manifest)? else {
            return Ok(None);
        };
        let names = self.names()?.remove(manifest).unwrap_or_default();
        record.references = names.iter().map(Reference::to_string).collect();
        Ok(Some(StoredImage::new(&self.layout, record)))
    }

    /// All names that can be read, by the digest that they name, in order.
    pub(crate) fn names(&self) -> io::Result<BTreeMap<Digest, Vec<Reference>>> {
        let mut names: BTreeMap<Digest, Vec<Reference>> = BTreeMap::new();
        for entry in fs::read_dir(self.layout.references())? {
            let file = match record::read::<ReferenceFile>(&entry?.path()) {
                Ok(Some(file)) => file,
                Ok(None) => continue,
                // Damage to one name is no reason to lose the others.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => continue,
                Err(error) => return Err(error),
            };
            if let Ok(reference) = file.reference.parse() {
                names
                    .entry(file.manifest_digest)
                    .or_default()
                    .push(reference);
            }
        }
        names.values_mut().for_each(|names| names.sort());
        Ok(names)
    }

    /// The digests of all images, in order.
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

fn not_found(name: &str) -> FindError {
    FindError::NotFound {
        name: excerpt(name),
    }
}
