use fstree::Segment;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

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
}

impl Checksums {
    pub(crate) fn new(record: &[u8], disk: RunsHash) -> Self {
        Self {
            record: text(Sha256::digest(record).into()),
            disk: text(disk.0.finalize().into()),
        }
    }

    /// Returns the part whose digest is another one here; `None` if there is none.
    pub(crate) fn differs(&self, found: &Self) -> Option<&'static str> {
        if self.record != found.record {
            Some(crate::RECORD)
        } else if self.disk != found.disk {
            Some(crate::DISK)
        } else {
            None
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
