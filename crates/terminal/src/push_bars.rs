//! The progress of a push.

use std::time::Duration;

use indicatif::ProgressBar;
use msb_sdk::{LayerRoute, LayerSize, PushEvent};

use crate::layer_bars::{LayerBars, style, working_style};

/// Time between two movements of a bar without a known end.
const TICK: Duration = Duration::from_millis(250);

/// Progress bars of a push on standard error, one for each layer. They are hidden if it is not a
/// terminal.
#[derive(Debug)]
pub struct PushBars(LayerBars);

impl PushBars {
    /// Returns bars for one push; `quiet` shows none.
    pub fn new(quiet: bool) -> Self {
        Self(LayerBars::new(quiet))
    }

    /// Removes the bars from the screen.
    pub fn finish(&self) {
        self.0.finish();
    }

    /// Shows an event.
    pub fn show(&self, event: &PushEvent) {
        match event {
            PushEvent::Image { layers, .. } => layers.iter().for_each(|layer| self.add(layer)),
            PushEvent::LayerCompressing { diff_id } => self.0.layer(diff_id, |bar| {
                bar.set_style(working_style());
                bar.set_message("compressing");
                bar.reset_elapsed();
                bar.enable_steady_tick(TICK);
            }),
            PushEvent::LayerStarted {
                diff_id,
                size_bytes,
            } => self.0.layer(diff_id, |bar| {
                rest(bar);
                bar.set_length(*size_bytes);
                bar.set_message("");
            }),
            PushEvent::LayerPosition {
                diff_id,
                position_bytes,
            } => self
                .0
                .layer(diff_id, |bar| bar.set_position(*position_bytes)),
            PushEvent::LayerDone { diff_id, route } => self.0.layer(diff_id, |bar| {
                rest(bar);
                bar.set_position(bar.length().unwrap_or(0));
                bar.finish_with_message(words(*route));
            }),
            PushEvent::Retrying {
                what,
                reason,
                after_ms,
            } => self.0.retrying(what, reason, *after_ms),
            _ => {}
        }
    }

    fn add(&self, layer: &LayerSize) {
        let bar = self.0.all.add(ProgressBar::new(layer.size_bytes));
        self.0.insert(&layer.diff_id, bar);
    }
}

/// Ends the movement of a bar whose layer was compressed.
fn rest(bar: &ProgressBar) {
    bar.disable_steady_tick();
    bar.set_style(style());
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
        let mut bar = None;
        bars.0.layer("sha256:1", |shown| bar = Some(shown.clone()));
        let bar = bar.expect("a bar");
        assert_eq!((bar.position(), bar.length()), (30, Some(70)));
        bars.show(&PushEvent::LayerDone {
            diff_id: "sha256:1".to_owned(),
            route: LayerRoute::Rebuilt,
        });
        assert_eq!(bar.position(), 70);
    }
}
