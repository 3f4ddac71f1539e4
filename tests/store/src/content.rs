use std::collections::BTreeSet;

use testkit::images::{Packing, TestImage, TestLayer};

use super::random::Random;

/// Number of layers that the generated images are made of together, and of layers per image.
const POOL_LAYERS: usize = 24;
const IMAGE_LAYERS: usize = 12;
/// Number of layers of an image that the next image does not have.
const STEP_LAYERS: usize = 3;
const IMAGES: usize = (POOL_LAYERS - IMAGE_LAYERS) / STEP_LAYERS + 1;

/// Images of a registry, each under a tag.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) images: Vec<(String, TestImage)>,
}

impl Content {
    /// Images of many small layers, most of which they share with others: `overlap-0` and so on.
    pub(super) fn overlapping() -> Self {
        let mut random = Random::with_seed(7);
        let layers = (0..POOL_LAYERS).map(|index| layer(index, &mut random));
        let pool: Vec<TestLayer> = layers.collect();
        let image = |index: usize| {
            let first = index * STEP_LAYERS;
            let layers = pool[first..first + IMAGE_LAYERS].to_vec();
            (format!("overlap-{index}"), TestImage::new(layers))
        };
        Self {
            images: (0..IMAGES).map(image).collect(),
        }
    }

    /// Returns the digests of all layers.
    pub(super) fn layers(&self) -> BTreeSet<String> {
        let layers = self.images.iter().flat_map(|(_, image)| &image.layers);
        layers.map(|layer| layer.digest().to_string()).collect()
    }
}

/// Returns a layer of a few files, one of which the next replaces, and a whiteout of a lower file.
fn layer(index: usize, random: &mut Random) -> TestLayer {
    let mut files = vec![("state".to_owned(), format!("layer {index}\n").into_bytes())];
    let large_bytes = 50_000 + random.below(400_000);
    files.push((format!("layer-{index}/large"), random.bytes(large_bytes)));
    for file in 0..8 {
        let small_bytes = random.below(6_000);
        files.push((
            format!("layer-{index}/small-{file}"),
            random.bytes(small_bytes),
        ));
    }
    if let Some(below) = index.checked_sub(1) {
        files.push((format!("layer-{below}/.wh.small-0"), Vec::new()));
    }
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
        .collect();
    TestLayer::new(&files, Packing::Plain)
}
