use std::sync::Arc;

use image_store::{ImageRecord, LayerRecord};
use msb_client::{Error, Operation, Shared};
use oci_image::HistoryEntry;
use serde::{Deserialize, Serialize};

/// A step in which an image was made, with the keys of `msb history --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HistoryStep {
    /// Diff ID of the step's layer; `None` if it made none.
    pub diff_id: Option<String>,
    /// Time of the step, usually as RFC 3339; `None` if the config does not tell it.
    pub created: Option<String>,
    /// Command of the step; `None` if the config does not tell it.
    pub created_by: Option<String>,
    /// Author of the step; `None` if the config does not tell it.
    pub author: Option<String>,
    /// Comment on the step; `None` if the config does not tell it.
    pub comment: Option<String>,
    /// Length of the layer in the store, in bytes; 0 if the step made none. Other images may share
    /// it.
    pub size_bytes: u64,
}

pub(crate) fn history(shared: Arc<Shared>, name: String) -> Operation<Vec<HistoryStep>> {
    Operation::new(async move {
        shared
            .with_home(move |shared| {
                let store = shared.store()?;
                let image = store.find(&name)?;
                let documents = store.documents(&image.record)?;
                let entries = oci_image::history(&documents.config)?;
                Ok::<_, Error>(steps(entries, &image.record))
            })
            .await
    })
}

/// Returns the steps, the last one first. A layer that no step tells of is a step without words.
fn steps(entries: Vec<HistoryEntry>, record: &ImageRecord) -> Vec<HistoryStep> {
    let mut layers = record.layers.iter();
    let mut steps: Vec<HistoryStep> = Vec::new();
    for entry in entries {
        let layer = if entry.empty_layer {
            None
        } else {
            layers.next()
        };
        steps.push(step(entry, layer));
    }
    steps.extend(layers.map(|layer| step(HistoryEntry::default(), Some(layer))));
    steps.reverse();
    steps
}

fn step(entry: HistoryEntry, layer: Option<&LayerRecord>) -> HistoryStep {
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    HistoryStep {
        diff_id: layer.map(|layer| layer.diff_id.to_string()),
        created: given(entry.created),
        created_by: given(entry.created_by),
        author: given(entry.author),
        comment: given(entry.comment),
        size_bytes: layer.map_or(0, |layer| layer.erofs.size_bytes),
    }
}
