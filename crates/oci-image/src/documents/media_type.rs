//! Media types that msb accepts.

/// Media type of an OCI index.
pub const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// Media type of an OCI manifest.
pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Media type of an OCI config.
pub const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// Media type of an uncompressed OCI layer.
pub const OCI_LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
/// Media type of an OCI layer that is compressed with gzip.
pub const OCI_LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// Media type of an OCI layer that is compressed with zstd.
pub const OCI_LAYER_ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";
const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";

/// Media types of manifests to request from a registry.
pub const ACCEPTED_MANIFESTS: [&str; 4] = [OCI_INDEX, OCI_MANIFEST, DOCKER_INDEX, DOCKER_MANIFEST];

/// Returns true for an OCI index or a Docker manifest list.
pub fn is_index(media_type: &str) -> bool {
    [OCI_INDEX, DOCKER_INDEX].contains(&media_type)
}

/// Returns true for an OCI or Docker manifest.
pub fn is_manifest(media_type: &str) -> bool {
    [OCI_MANIFEST, DOCKER_MANIFEST].contains(&media_type)
}

/// Returns true for an OCI or Docker config.
pub fn is_config(media_type: &str) -> bool {
    [OCI_CONFIG, DOCKER_CONFIG].contains(&media_type)
}

/// Returns true for a filesystem layer. Its compression is detected from its first bytes.
pub fn is_layer(media_type: &str) -> bool {
    let tar = [
        "application/vnd.oci.image.layer.v1.tar",
        "application/vnd.oci.image.layer.nondistributable.v1.tar",
        "application/vnd.docker.image.rootfs.diff.tar",
        "application/vnd.docker.image.rootfs.foreign.diff.tar",
    ];
    tar.into_iter()
        .filter_map(|base| media_type.strip_prefix(base))
        .any(|compression| matches!(compression, "" | "+gzip" | "+zstd" | ".gzip" | ".zstd"))
}

/// Returns the OCI media type of a layer whose media type is one of [`is_layer`]. Only the
/// compression remains: a layer that may not be distributed is a layer here.
pub fn oci_layer(media_type: &str) -> &'static str {
    if media_type.ends_with("gzip") {
        OCI_LAYER_GZIP
    } else if media_type.ends_with("zstd") {
        OCI_LAYER_ZSTD
    } else {
        OCI_LAYER
    }
}

/// Returns the media type of a manifest that does not state one, from that of its config.
pub(super) fn manifest_for(config: &str) -> &'static str {
    if config == DOCKER_CONFIG {
        DOCKER_MANIFEST
    } else {
        OCI_MANIFEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_told_from_other_artifacts() {
        assert!(is_layer("application/vnd.oci.image.layer.v1.tar+gzip"));
        assert!(is_layer(
            "application/vnd.docker.image.rootfs.diff.tar.gzip"
        ));
        assert!(is_layer(
            "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd"
        ));
        for other in [
            "",
            "application/vnd.in-toto+json",
            "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
            "application/vnd.oci.image.layer.v1.tar+encrypted",
            "application/vnd.oci.image.layer.v1.tar+gzip+encrypted",
        ] {
            assert!(!is_layer(other), "{other}");
        }
    }
}
