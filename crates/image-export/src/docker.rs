use std::collections::BTreeSet;

use image_store::Store;
use oci_image::Digest;
use serde::Serialize;

use crate::SaveError;
use crate::output::Output;
use crate::selection::Selected;

/// An entry of `manifest.json`, one for each image.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

/// Adds the files of docker's archive: the table of images, their configs, and each layer once, as
/// a tar that is not compressed.
pub(crate) fn write(
    store: &Store,
    images: &[Selected],
    output: &mut dyn Output,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(), SaveError> {
    let table: Vec<Entry> = images.iter().map(entry).collect();
    let table = serde_json::to_vec(&table).map_err(|error| SaveError::Output(error.into()))?;
    output.add_bytes("manifest.json", &table)?;
    let mut written: BTreeSet<String> = BTreeSet::new();
    for selected in images {
        let name = config_file(&selected.image.record.config_digest);
        if written.insert(name.clone()) {
            output.add_bytes(&name, &selected.documents.config)?;
        }
    }
    for selected in images {
        for layer in &selected.image.record.layers {
            let name = layer_file(&layer.diff_id);
            if written.insert(name.clone()) {
                let (size_bytes, mut tar) = selected.open(store, layer, is_cancelled)?;
                output.add(&name, size_bytes, &mut tar)?;
            }
        }
    }
    Ok(())
}

fn entry(selected: &Selected) -> Entry {
    let record = &selected.image.record;
    let tags: Vec<String> = selected
        .tags
        .iter()
        .map(|(short, _)| short.clone())
        .collect();
    let layers = record.layers.iter();
    Entry {
        config: config_file(&record.config_digest),
        repo_tags: (!tags.is_empty()).then_some(tags),
        layers: layers.map(|layer| layer_file(&layer.diff_id)).collect(),
    }
}

fn config_file(config: &Digest) -> String {
    format!("{}.json", config.hex())
}

fn layer_file(diff_id: &Digest) -> String {
    format!("{}.tar", diff_id.hex())
}
