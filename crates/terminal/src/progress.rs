//! The progress of a pull.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;
use msb_sdk::{LayerSize, PullEvent};

use crate::layer_bars::{LayerBars, short, style};
use crate::output;

/// The label of the bar for all layers, as wide as the labels of the layers' bars.
const TOTAL: &str = "total       ";

/// The most notes on one layer that are shown.
const NOTES_SHOWN: usize = 3;

/// Progress bars on standard error, one for each layer and one for all. They are hidden if it is
/// not a terminal.
#[derive(Debug)]
pub struct Bars {
    layers: LayerBars,
    total: OnceLock<ProgressBar>,
    verifying: OnceLock<ProgressBar>,
    is_quiet: bool,
    /// True from the first event of a pull to its last.
    is_pulling: AtomicBool,
}

impl Bars {
    /// Returns bars for one pull; `quiet` shows none.
    pub fn new(quiet: bool) -> Self {
        Self {
            layers: LayerBars::new(quiet),
            total: OnceLock::new(),
            verifying: OnceLock::new(),
            is_quiet: quiet,
            is_pulling: AtomicBool::new(false),
        }
    }

    /// Removes the bars from the screen.
    pub fn finish(&self) {
        self.layers.finish();
    }

    /// Reports a layer's losses during conversion, with or without a terminal.
    fn notes(&self, diff_id: &str, notes: &[String], total: u64) {
        if self.is_quiet {
            return;
        }
        let layer = short(diff_id);
        let mut lines: Vec<String> = notes
            .iter()
            .take(NOTES_SHOWN)
            .map(|note| crate::failure::printable(&format!("layer {layer}: {note}")))
            .collect();
        let shown = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        if total > shown {
            lines.push(format!(
                "layer {layer}: and {} more like these",
                total - shown
            ));
        }
        self.layers
            .all
            .suspend(|| lines.iter().for_each(|line| output::notice(line)));
    }

    fn start(&self, layers: &[LayerSize]) {
        let total = self.total.get_or_init(|| {
            let total = self.layers.all.add(ProgressBar::new(0));
            total.set_style(style());
            total.set_prefix(TOTAL);
            total
        });
        for layer in layers {
            total.inc_length(layer.size_bytes);
            let bar = ProgressBar::new(layer.size_bytes);
            let bar = self.layers.all.insert_before(total, bar);
            self.layers.insert(&layer.diff_id, bar);
        }
    }

    fn start_verifying(&self, bytes: u64) {
        let bar = self
            .verifying
            .get_or_init(|| self.layers.all.add(ProgressBar::new(bytes)));
        bar.set_style(style());
        bar.set_prefix("verifying");
        bar.set_length(bytes);
        bar.set_position(0);
    }

    /// Adds bytes to a layer's bar and to the total.
    fn advance(&self, bar: &ProgressBar, bytes: u64) {
        bar.inc(bytes);
        if let Some(total) = self.total.get() {
            total.inc(bytes);
        }
    }

    /// Fills a layer's bar, and shows the layer's outcome.
    fn complete(&self, diff_id: &str, message: &'static str) {
        self.layers.layer(diff_id, |bar| {
            let left = bar.length().unwrap_or(0).saturating_sub(bar.position());
            self.advance(bar, left);
            bar.finish_with_message(message);
        });
    }
}

impl Bars {
    /// Shows an event.
    pub fn show(&self, event: &PullEvent) {
        self.is_pulling
            .store(!matches!(event, PullEvent::Done { .. }), Ordering::Relaxed);
        match event {
            PullEvent::Image { layers, .. } => self.start(layers),
            PullEvent::LayerPresent { diff_id } => self.complete(diff_id, "already here"),
            PullEvent::LayerWaiting { diff_id } => self.layers.layer(diff_id, |bar| {
                bar.set_message("waiting for another msb");
            }),
            PullEvent::LayerStarted { diff_id } => self.layers.layer(diff_id, |bar| {
                bar.set_message("");
            }),
            PullEvent::LayerBytes { diff_id, bytes } => {
                self.layers.layer(diff_id, |bar| self.advance(bar, *bytes));
            }
            PullEvent::LayerDone { diff_id } => self.complete(diff_id, "done"),
            PullEvent::Verifying { bytes } => self.start_verifying(*bytes),
            PullEvent::VerifiedBytes { bytes } => {
                if let Some(bar) = self.verifying.get() {
                    bar.inc(*bytes);
                }
            }
            PullEvent::Retrying {
                what,
                reason,
                after_ms,
            } => self.layers.retrying(what, reason, *after_ms),
            PullEvent::LayerNotes {
                diff_id,
                notes,
                total,
            } => self.notes(diff_id, notes, *total),
            _ => {}
        }
    }

    /// Returns true while an image is pulled.
    pub fn is_pulling(&self) -> bool {
        self.is_pulling.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_layers_together_are_counted_once_each() {
        let bars = Bars::new(true);
        let layer = |name: &str| format!("sha256:{name}");
        let events = [
            r#"{"type":"image","name":"app","digest":"","layers":[
                {"diff_id":"sha256:1","size_bytes":100},{"diff_id":"sha256:2","size_bytes":50},
                {"diff_id":"sha256:3","size_bytes":7}]}"#,
            r#"{"type":"layer-bytes","diff_id":"sha256:1","bytes":60}"#,
        ];
        for event in events {
            bars.show(&serde_json::from_str(event).expect("an event"));
        }
        let total = bars.total.get().expect("a bar");
        assert_eq!((total.position(), total.length()), (60, Some(157)));
        bars.show(&PullEvent::LayerPresent {
            diff_id: layer("2"),
        });
        assert_eq!(total.position(), 110);
        bars.show(&PullEvent::LayerBytes {
            diff_id: layer("1"),
            bytes: 40,
        });
        bars.show(&PullEvent::LayerDone {
            diff_id: layer("1"),
        });
        assert_eq!(total.position(), 150);
    }
}
