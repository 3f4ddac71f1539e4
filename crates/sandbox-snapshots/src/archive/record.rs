use std::io;

use msb_runtime::Spec;
use oci_image::{Digest, excerpt};
use sealed_records::BrokenSeal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{Snapshot, SnapshotConsistency, SnapshotName};
use super::ImportError;
use super::staged::{check_sizes, without_hosts};

/// The version of the format.
const FORMAT: u32 = 2;
/// The version of an archive without images of staged directories, which earlier versions of msb read, too.
const FORMAT_WITHOUT_IMAGES: u32 = 1;
/// The largest length of a note, in bytes.
const MESSAGE_MAX_BYTES: usize = 64 << 10;

/// The record of an archive: what `snapshot.json` has, sealed as the records of the store are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Archived {
    format: u32,
    pub(super) snapshot: ArchivedSnapshot,
    /// The digest of the image's config, which names its layers. It stays when the image is saved and loaded,
    /// and the digest of its manifest may not.
    pub(super) image_config_digest: Digest,
    /// The description of the sandbox, with the name and the digest of its image.
    pub(super) sandbox: Spec,
    /// True if the sandbox began with other files than those of its image. They are not in the archive.
    pub(super) has_base: bool,
    /// The sizes of the images of its staged directories, in bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) staged: Vec<u64>,
}

/// The snapshot itself, without the state of its disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ArchivedSnapshot {
    pub(super) name: SnapshotName,
    pub(super) created_s: u64,
    pub(super) message: Option<String>,
    pub(super) consistency: SnapshotConsistency,
}

/// The part of a record that every version has.
#[derive(Debug, Deserialize)]
struct Version {
    format: u32,
}

impl Archived {
    /// Returns the record of a snapshot. `staged` are the sizes of the images of the sandbox's staged directories.
    pub(super) fn new(
        snapshot: Snapshot,
        image_config_digest: Digest,
        sandbox: Spec,
        staged: Vec<u64>,
    ) -> Self {
        Self {
            format: if staged.is_empty() {
                FORMAT_WITHOUT_IMAGES
            } else {
                FORMAT
            },
            snapshot: ArchivedSnapshot {
                name: snapshot.name,
                created_s: snapshot.created_s,
                message: snapshot.message,
                consistency: snapshot.consistency,
            },
            image_config_digest,
            sandbox: without_hosts(sandbox),
            has_base: false,
            staged,
        }
    }

    /// Returns the bytes of the record.
    pub(super) fn sealed(&self) -> io::Result<Vec<u8>> {
        sealed_records::seal(self)
    }

    /// Reads a record, of which every byte may be hostile.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ImportError> {
        let invalid = |reason: String| ImportError::Record { reason };
        let version: Version =
            serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
        if !(FORMAT_WITHOUT_IMAGES..=FORMAT).contains(&version.format) {
            return Err(ImportError::Format {
                found: version.format,
                newest: FORMAT,
            });
        }
        let found: Value = sealed_records::open(bytes).map_err(|error| match error {
            BrokenSeal::Content(source) => invalid(source.to_string()),
            broken @ BrokenSeal::Seal => invalid(broken.to_string()),
        })?;
        let parsed = Self::deserialize(&found);
        let archived = parsed.map_err(|error| invalid(error.to_string()))?;
        // A setting that this version does not know would be lost without a word.
        let rewritten = serde_json::to_value(&archived);
        let rewritten = rewritten.map_err(|error| invalid(error.to_string()))?;
        let field = found["sandbox"]
            .is_object()
            .then(|| sealed_records::unknown_field(&found["sandbox"], &rewritten["sandbox"]));
        if let Some(field) = field.flatten() {
            return Err(invalid(format!(
                "its sandbox has the setting '{}', which this msb does not know",
                excerpt(&field)
            )));
        }
        archived.check().map_err(invalid)?;
        Ok(archived)
    }

    /// Checks what is shown to users, and what a machine needs.
    fn check(&self) -> Result<(), String> {
        let spec = &self.sandbox;
        let labels = spec.labels.iter().flat_map(|(key, value)| [key, value]);
        let shown = [&spec.image, &spec.image_digest].into_iter();
        let shown = shown.chain(labels).chain(&self.snapshot.message);
        for text in shown {
            let is_shown = |character: char| !character.is_control() || "\n\t".contains(character);
            if text.len() > MESSAGE_MAX_BYTES || !text.chars().all(is_shown) {
                return Err("a text in it is too long, or has control characters".to_owned());
            }
        }
        if spec.root_disk.is_some() {
            return Err("the root of its sandbox is a disk image, which no archive has".to_owned());
        }
        if spec.cpus == 0 || spec.memory_mib == 0 {
            return Err("its sandbox has no processor or no memory".to_owned());
        }
        check_sizes(spec, &self.staged)?;
        spec.guest.check().map_err(|error| error.to_string())
    }
}
