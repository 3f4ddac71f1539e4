use fstree::Segment;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::Part;

/// The digests of the parts, as `checksums.json` has them.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Checksums {
    /// The SHA-256 of the record, as `sha256:HEX`.
    #[serde(rename = "snapshot.json")]
    record: String,
    /// The SHA-256 of the disk's runs: the offset, the length and the bytes of each.
    #[serde(rename = "disk.img")]
    disk: String,
    /// The SHA-256 of each image of the staged directories.
    #[serde(rename = "staged", default, skip_serializing_if = "Vec::is_empty")]
    images: Vec<String>,
}

impl Checksums {
    pub(crate) fn new(record: &[u8], disk: RunsHash, images: Vec<Sha256>) -> Self {
        let images = images
            .into_iter()
            .map(|image| text(image.finalize().into()));
        Self {
            record: text(Sha256::digest(record).into()),
            disk: text(disk.0.finalize().into()),
            images: images.collect(),
        }
    }

    /// Returns the part whose digest is another one here; `None` if there is none.
    pub(crate) fn differs(&self, found: &Self) -> Option<Part> {
        let mut images = self.images.iter().zip(&found.images);
        if self.record != found.record {
            Some(Part::Record)
        } else if self.disk != found.disk {
            Some(Part::Disk)
        } else if let Some(number) = images.position(|(one, other)| one != other) {
            Some(Part::Image(number))
        } else {
            (self.images.len() != found.images.len()).then_some(Part::Checksums)
        }
    }
}

fn text(digest: [u8; 32]) -> String {
    format!("sha256:{}", hex::encode(digest))
}

/// The hash of a disk's runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunsHash(Sha256);

impl RunsHash {
    /// Begins the next run.
    pub(crate) fn run(&mut self, run: Segment) {
        self.0.update(run.offset_bytes.to_le_bytes());
        self.0.update(run.length_bytes.to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}
