use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use oci_layers::Exceeded;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::media_type;
use crate::digest::{Digest, InvalidDigest};
use crate::excerpt::excerpt;
use crate::platform::Platform;

/// Most addresses outside of the registry that are kept for one layer.
const URLS_MAX: usize = 8;

/// An error in a manifest, an index or a config.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The document is not JSON of the expected form.
    #[error("cannot parse the {what}")]
    Json {
        /// Kind of the document.
        what: &'static str,
        /// Cause, with its position in the document.
        #[source]
        source: serde_json::Error,
    },
    /// A digest in the document is not valid.
    #[error("the {what} is not valid")]
    Digest {
        /// Object that the digest belongs to.
        what: &'static str,
        /// Cause reported by the digest's parser.
        #[source]
        source: InvalidDigest,
    },
    /// The document's digest is not the requested one.
    #[error("the {what} has digest {actual}, expected {expected}")]
    WrongDigest {
        /// Kind of the document.
        what: &'static str,
        /// Digest that was requested.
        expected: Digest,
        /// Digest of the bytes that were received.
        actual: Digest,
    },
    /// The document's length differs from its descriptor.
    #[error("the {what} {digest} has {actual_bytes} bytes, its descriptor says {expected_bytes}")]
    WrongSize {
        /// Kind of the document.
        what: &'static str,
        /// Digest of the document.
        digest: Digest,
        /// Length in the descriptor, in bytes.
        expected_bytes: u64,
        /// Length that was received, in bytes.
        actual_bytes: u64,
    },
    /// The image exceeds a limit.
    #[error("the image exceeds a limit")]
    Limit(#[from] Exceeded),
    /// The document is a manifest and an index at once, or neither.
    #[error("the manifest has {problem}")]
    Ambiguous {
        /// Description of the ambiguity.
        problem: &'static str,
    },
    /// The config and the manifest list different numbers of layers.
    #[error("the config lists {diff_ids} diff IDs for {layers} layers")]
    LayerCount {
        /// Number of diff IDs in the config.
        diff_ids: usize,
        /// Number of layers in the manifest.
        layers: usize,
    },
    /// The media type is not that of a container image.
    #[error("the {what} has the media type '{media_type}', which is not supported")]
    MediaType {
        /// Object that has the media type.
        what: &'static str,
        /// The media type, shortened and escaped.
        media_type: String,
    },
    /// The index has no image for the platform.
    #[error("no image for platform {wanted}: {}", offered(.available))]
    Platform {
        /// Platform that was requested.
        wanted: Platform,
        /// Platforms of the images in the index.
        available: Vec<Platform>,
    },
}

impl ManifestError {
    /// Returns true if the document is valid and of something else than an image for the platform: of an
    /// image for another one, or of an artifact such as a signature.
    pub fn is_unsuitable(&self) -> bool {
        matches!(self, Self::Platform { .. } | Self::MediaType { .. })
    }
}

fn offered(available: &[Platform]) -> String {
    if available.is_empty() {
        return "the index has no images".to_owned();
    }
    let names: Vec<String> = available.iter().map(Platform::to_string).collect();
    format!("it exists for {}", names.join(", "))
}

/// A parsed manifest or index.
#[derive(Debug, Clone)]
pub enum Document {
    /// The manifest of one image.
    Manifest(Manifest),
    /// The entries of an index that are manifests or indexes.
    Index(Vec<IndexEntry>),
}

/// An image's config and layers, the base layer first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Descriptor of the config.
    pub config: Descriptor,
    /// Descriptors of the layers, the base layer first.
    pub layers: Vec<Descriptor>,
    /// Media types of the layers, in the order of [`layers`](Self::layers).
    pub layer_media_types: Vec<String>,
    /// Media type of the manifest itself.
    pub media_type: String,
    /// The document itself, as it was parsed.
    pub raw: Arc<[u8]>,
    /// Addresses outside of the registry, for the layers that have any.
    pub elsewhere: BTreeMap<Digest, Vec<String>>,
}

/// Digest and length of a document or a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// Digest of the bytes.
    pub digest: Digest,
    /// Number of bytes.
    pub size_bytes: u64,
}

/// An entry of an index.
#[derive(Debug, Clone)]
pub struct IndexEntry {
    /// Descriptor of the manifest or index.
    pub descriptor: Descriptor,
    /// Platform that the index states; `None` if it states none.
    pub platform: Option<Platform>,
    /// Annotations by key.
    pub annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawDocument {
    schema_version: Option<u64>,
    media_type: Option<String>,
    config: Option<RawDescriptor>,
    layers: Option<Vec<RawDescriptor>>,
    manifests: Option<Vec<RawDescriptor>>,
}

/// A descriptor in the form of its JSON.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawDescriptor {
    #[serde(default)]
    /// Media type; empty if it is not stated.
    pub media_type: String,
    /// Digest as text, not yet checked.
    pub digest: String,
    /// Number of bytes.
    pub size: u64,
    #[serde(skip_serializing)]
    platform: Option<RawPlatform>,
    #[serde(skip_serializing)]
    annotations: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing)]
    urls: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct RawPlatform {
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
    variant: Option<String>,
}

impl RawDescriptor {
    /// Returns a descriptor without platform, annotations and addresses.
    pub fn new(media_type: &str, digest: Digest, size: u64) -> Self {
        let digest = digest.to_string();
        Self {
            media_type: media_type.to_owned(),
            digest,
            size,
            platform: None,
            annotations: None,
            urls: None,
        }
    }

    fn descriptor(&self, what: &'static str) -> Result<Descriptor, ManifestError> {
        let digest = self
            .digest
            .parse()
            .map_err(|source| ManifestError::Digest { what, source })?;
        Ok(Descriptor {
            digest,
            size_bytes: self.size,
        })
    }

    fn platform(&self) -> Option<Platform> {
        let raw = self.platform.as_ref()?;
        Some(Platform::new(
            &raw.os,
            &raw.architecture,
            raw.variant.as_deref(),
        ))
    }

    fn index_entry(mut self) -> Result<Option<IndexEntry>, ManifestError> {
        let known =
            media_type::is_manifest(&self.media_type) || media_type::is_index(&self.media_type);
        if !known && !self.media_type.is_empty() {
            return Ok(None);
        }
        Ok(Some(IndexEntry {
            descriptor: self.descriptor("digest in the index")?,
            platform: self.platform(),
            annotations: self.annotations.take().unwrap_or_default(),
        }))
    }
}

impl Document {
    /// Parses and checks a document whose digest was checked. `content_type` is the media type that
    /// the source reports; it counts if the document does not state one.
    pub fn parse(bytes: &[u8], content_type: Option<&str>) -> Result<Self, ManifestError> {
        let json = |source| ManifestError::Json {
            what: "manifest",
            source,
        };
        let raw: RawDocument = serde_json::from_slice(bytes).map_err(json)?;
        check_members(bytes)?;
        let declared = raw
            .media_type
            .as_deref()
            .or(content_type.filter(|&declared| {
                media_type::is_index(declared) || media_type::is_manifest(declared)
            }));
        if let Some(declared) = declared
            && !media_type::is_index(declared)
            && !media_type::is_manifest(declared)
        {
            return Err(unsupported("manifest", declared));
        }
        if raw.schema_version != Some(2) {
            let media_type = "application/vnd.docker.distribution.manifest.v1+json";
            return Err(unsupported("manifest", media_type));
        }
        match (raw.config, raw.layers, raw.manifests) {
            (Some(config), Some(layers), None) if !declared.is_some_and(media_type::is_index) => {
                Manifest::check(bytes, declared, &config, &layers).map(Self::Manifest)
            }
            (None, None, Some(entries)) if !declared.is_some_and(media_type::is_manifest) => {
                let entries = entries.into_iter().map(RawDescriptor::index_entry);
                let entries = entries
                    .filter_map(Result::transpose)
                    .collect::<Result<_, _>>()?;
                Ok(Self::Index(entries))
            }
            (_, Some(_), Some(_)) | (Some(_), _, Some(_)) => Err(ManifestError::Ambiguous {
                problem: "both layers and manifests",
            }),
            (None, None, None) => Err(ManifestError::Ambiguous {
                problem: "neither layers nor manifests",
            }),
            _ => Err(ManifestError::Ambiguous {
                problem: "other members than its media type requires",
            }),
        }
    }
}

impl Manifest {
    fn check(
        bytes: &[u8],
        declared: Option<&str>,
        config: &RawDescriptor,
        layers: &[RawDescriptor],
    ) -> Result<Self, ManifestError> {
        if !media_type::is_config(&config.media_type) {
            return Err(unsupported("config", &config.media_type));
        }
        if let Some(other) = layers
            .iter()
            .find(|layer| !media_type::is_layer(&layer.media_type))
        {
            return Err(unsupported("layer", &other.media_type));
        }
        let mut manifest = Self {
            config: config.descriptor("digest of the config")?,
            layers: Vec::new(),
            layer_media_types: layers.iter().map(|raw| raw.media_type.clone()).collect(),
            media_type: declared
                .unwrap_or_else(|| media_type::manifest_for(&config.media_type))
                .to_owned(),
            raw: bytes.into(),
            elsewhere: BTreeMap::new(),
        };
        for raw in layers {
            let layer = raw.descriptor("digest of a layer")?;
            if let Some(urls) = raw.urls.as_ref().filter(|urls| !urls.is_empty()) {
                let urls = urls.iter().take(URLS_MAX).cloned().collect();
                manifest.elsewhere.insert(layer.digest, urls);
            }
            manifest.layers.push(layer);
        }
        Ok(manifest)
    }
}

/// Refuses a document with a member whose name differs from a known one only in case. A reader that
/// ignores case would see another image.
fn check_members(bytes: &[u8]) -> Result<(), ManifestError> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = bool;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
            let known = [
                "schemaVersion",
                "mediaType",
                "config",
                "layers",
                "manifests",
            ];
            let mut is_plain = true;
            while let Some(name) = map.next_key::<String>()? {
                map.next_value::<IgnoredAny>()?;
                let is_like = |known: &&str| name.eq_ignore_ascii_case(known) && name != **known;
                is_plain &= !known.iter().any(is_like);
            }
            Ok(is_plain)
        }
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    match reader.deserialize_map(Members) {
        Ok(true) => Ok(()),
        Ok(false) => Err(ManifestError::Ambiguous {
            problem: "two members whose names differ only in case",
        }),
        Err(source) => Err(ManifestError::Json {
            what: "manifest",
            source,
        }),
    }
}

fn unsupported(what: &'static str, media_type: &str) -> ManifestError {
    ManifestError::MediaType {
        what,
        media_type: excerpt(media_type),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn manifest(config_type: &str, layer_type: &str, more: &str) -> String {
        format!(
            r#"{{"schemaVersion":2,"config":{{"mediaType":"{config_type}","digest":"{DIGEST}","size":2}},
            "layers":[{{"mediaType":"{layer_type}","digest":"{DIGEST}","size":7}}]{more}}}"#
        )
    }

    #[test]
    fn manifests_and_indexes_are_told_apart() {
        let image = manifest(media_type::OCI_CONFIG, media_type::OCI_LAYER, "");
        let parsed = Document::parse(image.as_bytes(), None).expect("a manifest");
        assert!(matches!(parsed, Document::Manifest(Manifest { layers, .. }) if layers.len() == 1));
        let index = br#"{"schemaVersion":2,"manifests":[]}"#;
        assert!(matches!(
            Document::parse(index, None),
            Ok(Document::Index(_))
        ));
        assert!(Document::parse(index, Some(media_type::OCI_MANIFEST)).is_err());
        let both = manifest(
            media_type::OCI_CONFIG,
            media_type::OCI_LAYER,
            r#","manifests":[]"#,
        );
        assert!(matches!(
            Document::parse(both.as_bytes(), None),
            Err(ManifestError::Ambiguous { .. })
        ));
    }

    #[test]
    fn foreign_media_types_are_named() {
        let helm = "application/vnd.cncf.helm.config.v1+json";
        let chart = manifest(helm, media_type::OCI_LAYER, "");
        let error = Document::parse(chart.as_bytes(), None)
            .expect_err("a chart")
            .to_string();
        assert!(error.contains(helm), "{error}");
        let toto = manifest(media_type::OCI_CONFIG, "application/vnd.in-toto+json", "");
        let error = Document::parse(toto.as_bytes(), None)
            .expect_err("a statement")
            .to_string();
        assert!(error.contains("in-toto"), "{error}");
    }

    #[test]
    fn broken_documents_are_refused() {
        let negative =
            manifest(media_type::OCI_CONFIG, media_type::OCI_LAYER, "").replace('7', "-7");
        for text in ["", "{}", "[]", r#"{"schemaVersion":1}"#, &negative] {
            assert!(Document::parse(text.as_bytes(), None).is_err(), "{text}");
        }
    }
}
