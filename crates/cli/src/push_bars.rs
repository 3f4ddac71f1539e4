use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use msb_sdk::{LayerRoute, LayerSize, PushEvent};

use crate::output;

const BAR: &str = "{prefix} {bar:30} {bytes:>10}/{total_bytes:<10} {msg}";

/// Progress bars of a push on standard error, one for each layer. They are hidden if it is not a
/// terminal.
#[derive(Debug)]
pub(crate) struct PushBars {
    all: MultiProgress,
    layers: Mutex<HashMap<String, ProgressBar>>,
}

impl PushBars {
    pub(crate) fn new(quiet: bool) -> Self {
        let target = if output::progress_is_seen(quiet) {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        Self {
            all: MultiProgress::with_draw_target(target),
            layers: Mutex::default(),
        }
    }

    /// Removes the bars from the screen.
    pub(crate) fn finish(&self) {
        // A terminal that was closed has nothing to clear.
        let _ = self.all.clear();
    }

    /// Shows an event.
    pub(crate) fn show(&self, event: &PushEvent) {
        match event {
            PushEvent::Image { layers, .. } => layers.iter().for_each(|layer| self.add(layer)),
            PushEvent::LayerCompressing { diff_id } => self.layer(diff_id, |bar| {
                bar.set_message("compressing");
            }),
            PushEvent::LayerStarted {
                diff_id,
                size_bytes,
            } => self.layer(diff_id, |bar| {
                bar.set_length(*size_bytes);
                bar.set_message("");
            }),
            PushEvent::LayerPosition {
                diff_id,
                position_bytes,
            } => self.layer(diff_id, |bar| bar.set_position(*position_bytes)),
            PushEvent::LayerDone { diff_id, route } => self.layer(diff_id, |bar| {
                bar.set_position(bar.length().unwrap_or(0));
                bar.finish_with_message(words(*route));
            }),
            PushEvent::Retrying {
                what,
                reason,
                after_ms,
            } => {
                let what = crate::failure::printable(what);
                let reason = crate::failure::printable(reason);
                let line = format!("{what}: {reason}; again in {} s", after_ms / 1000);
                // Without a terminal the line is not shown; the outcome is enough then.
                let _ = self.all.println(line);
            }
            _ => {}
        }
    }

    fn add(&self, layer: &LayerSize) {
        let style = ProgressStyle::with_template(BAR).expect("the template is well-formed");
        let bar = self.all.add(ProgressBar::new(layer.size_bytes));
        bar.set_style(style);
        let short: String = layer
            .diff_id
            .chars()
            .skip("sha256:".len())
            .take(12)
            .collect();
        bar.set_prefix(short);
        bar.set_message("waiting");
        let mut layers = self.layers.lock().unwrap_or_else(PoisonError::into_inner);
        layers.insert(layer.diff_id.clone(), bar);
    }

    fn layer(&self, diff_id: &str, change: impl FnOnce(&ProgressBar)) {
        // A panic may leave the bars in any state; only the display depends on it.
        let layers = self.layers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = layers.get(diff_id) {
            change(bar);
        }
    }
}

const fn words(route: LayerRoute) -> &'static str {
    match route {
        LayerRoute::Present => "already there",
        LayerRoute::Mounted => "mounted",
        _ => "done",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_goes_from_its_own_size_to_that_which_is_sent() {
        let bars = PushBars::new(true);
        for event in [
            r#"{"type":"image","name":"a","layers":[{"diff_id":"sha256:1","size_bytes":100}]}"#,
            r#"{"type":"layer-compressing","diff_id":"sha256:1"}"#,
            r#"{"type":"layer-started","diff_id":"sha256:1","size_bytes":70}"#,
            r#"{"type":"layer-position","diff_id":"sha256:1","position_bytes":30}"#,
        ] {
            bars.show(&serde_json::from_str(event).expect("an event"));
        }
        let bar = bars.layers.lock().expect("bars")["sha256:1"].clone();
        assert_eq!((bar.position(), bar.length()), (30, Some(70)));
        bars.show(&PushEvent::LayerDone {
            diff_id: "sha256:1".to_owned(),
            route: LayerRoute::Rebuilt,
        });
        assert_eq!(bar.position(), 70);
    }
}
