use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use msb_bench_runner::Extent;
use serde::Deserialize;

use crate::msb::Msb;

const BLOCK_BYTES: u64 = 4096;

/// An image's disk as the store holds it: the metadata, then the layers, base first.
#[derive(Debug, Deserialize)]
pub(super) struct Disk {
    fsmeta: PathBuf,
    pub(super) layers: Vec<PathBuf>,
    fsmeta_artifact: Artifact,
    layer_artifacts: Vec<Artifact>,
}

#[derive(Debug, Deserialize)]
struct Artifact {
    blocks: u64,
}

impl Disk {
    pub(super) fn from_image(msb: &Msb, image: &str) -> Result<Self> {
        let said = msb.output(["image", "inspect", "--format", "json", image])?;
        serde_json::from_str(&said).context("cannot parse the image's description")
    }

    /// Returns the positions of the layers on the disk.
    pub(super) fn extents(&self) -> Vec<Extent> {
        let mut start_bytes = self.fsmeta_artifact.blocks * BLOCK_BYTES;
        let mut extents = Vec::new();
        for layer in &self.layer_artifacts {
            let length_bytes = layer.blocks * BLOCK_BYTES;
            extents.push(Extent {
                start_bytes,
                length_bytes,
            });
            start_bytes += length_bytes;
        }
        extents
    }

    /// Writes the disk to one file, as the guest sees it.
    pub(super) fn concatenate(&self, flat: &Path) -> Result<()> {
        let mut out = fs::File::create(flat)?;
        for part in std::iter::once(&self.fsmeta).chain(&self.layers) {
            io::copy(&mut fs::File::open(part)?, &mut out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_lie_behind_the_metadata() {
        let said = r#"{"fsmeta": "/m", "layers": ["/a", "/b"], "fsmeta_artifact": {"blocks": 2},
            "layer_artifacts": [{"blocks": 3}, {"blocks": 1}]}"#;
        let disk: Disk = serde_json::from_str(said).expect("a description");
        let extents = disk.extents().into_iter();
        let places: Vec<(u64, u64)> = extents
            .map(|extent| (extent.start_bytes, extent.length_bytes))
            .collect();
        assert_eq!(places, [(8192, 12288), (20480, 4096)]);
    }
}
