use serde::Serialize;

use super::media_type;
use super::{Descriptor, RawDescriptor};

/// A manifest with the known fields, in the order in which registries serve them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    schema_version: u32,
    media_type: &'static str,
    config: RawDescriptor,
    layers: Vec<RawDescriptor>,
}

/// Returns the OCI manifest of a config and of layers, each with its media type, the base layer
/// first. The same descriptors give the same bytes.
pub fn make_manifest<'a>(
    config: &Descriptor,
    layers: impl IntoIterator<Item = (&'a str, Descriptor)>,
) -> Vec<u8> {
    let raw = |media_type: &str, blob: &Descriptor| {
        RawDescriptor::new(media_type, blob.digest, blob.size_bytes)
    };
    let layers = layers.into_iter();
    let made = Made {
        schema_version: 2,
        media_type: media_type::OCI_MANIFEST,
        config: raw(media_type::OCI_CONFIG, config),
        layers: layers
            .map(|(media_type, blob)| raw(media_type, &blob))
            .collect(),
    };
    serde_json::to_vec(&made).expect("plain structs have a JSON form")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Digest, Document};

    #[test]
    fn a_made_manifest_is_read_back() {
        let blob = Descriptor {
            digest: Digest::compute(b"blob"),
            size_bytes: 4,
        };
        let bytes = make_manifest(&blob, [(media_type::OCI_LAYER_GZIP, blob)]);
        let parsed = Document::parse(&bytes, None).expect("a manifest");
        let Document::Manifest(manifest) = parsed else {
            panic!("it is no index");
        };
        assert_eq!((manifest.config, &manifest.layers[..]), (blob, &[blob][..]));
        assert_eq!(manifest.layer_media_types, [media_type::OCI_LAYER_GZIP]);
        assert_eq!(manifest.media_type, media_type::OCI_MANIFEST);
        assert_eq!(manifest.raw[..], bytes[..]);
    }
}
