use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

use image_store::{Digest, Event, LayerSize, Note, Progress};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

const BAR: &str = "{prefix} {bar:30} {bytes:>10}/{total_bytes:<10} {msg}";

/// Notes on one layer that are shown at most.
const NOTES_SHOWN: usize = 3;

/// One bar a layer on standard error, where that is a terminal.
#[derive(Debug)]
pub(crate) struct Bars {
    all: MultiProgress,
    layers: Mutex<HashMap<Digest, ProgressBar>>,
    verifying: OnceLock<ProgressBar>,
    is_quiet: bool,
}

impl Bars {
    pub(crate) fn new(quiet: bool) -> Self {
        let target = if output::progress_is_seen(quiet) {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        Self {
            all: MultiProgress::with_draw_target(target),
            layers: Mutex::default(),
            verifying: OnceLock::new(),
            is_quiet: quiet,
        }
    }

    /// Takes the bars off the screen.
    pub(crate) fn finish(&self) {
        // A terminal that went away has nothing to clear.
        let _ = self.all.clear();
    }

    /// Says what a layer lost on the way, with or without a terminal.
    fn notes(&self, diff_id: &Digest, notes: &[Note], total: u64) {
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
        self.all
            .suspend(|| lines.iter().for_each(|line| output::notice(line)));
    }

    fn start(&self, layers: &[LayerSize]) {
        let style = ProgressStyle::with_template(BAR).expect("the template is well-formed");
        for layer in layers {
            let bar = self.all.add(ProgressBar::new(layer.size_bytes));
            bar.set_style(style.clone());
            bar.set_prefix(short(&layer.diff_id));
            bar.set_message("waiting");
            self.with_layers(|bars| bars.insert(layer.diff_id, bar));
        }
    }

    fn start_verifying(&self, bytes: u64) {
        let style = ProgressStyle::with_template(BAR).expect("the template is well-formed");
        let bar = self
            .verifying
            .get_or_init(|| self.all.add(ProgressBar::new(bytes)));
        bar.set_style(style);
        bar.set_prefix("verifying");
        bar.set_length(bytes);
        bar.set_position(0);
    }

    fn layer(&self, diff_id: &Digest, change: impl FnOnce(&ProgressBar)) {
        self.with_layers(|bars| {
            if let Some(bar) = bars.get(diff_id) {
                change(bar);
            }
        });
    }

    fn with_layers<T>(&self, work: impl FnOnce(&mut HashMap<Digest, ProgressBar>) -> T) -> T {
        // A thread that panicked leaves bars in any state, which is good enough for bars.
        let mut layers = self
            .layers
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        work(&mut layers)
    }
}

fn short(digest: &Digest) -> String {
    digest
        .to_string()
        .chars()
        .skip("sha256:".len())
        .take(12)
        .collect()
}

impl Progress for Bars {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Image { layers, .. } => self.start(layers),
            Event::LayerPresent { diff_id } => self.layer(diff_id, |bar| {
                bar.finish_with_message("already here");
            }),
            Event::LayerWaiting { diff_id } => self.layer(diff_id, |bar| {
                bar.set_message("waiting for another msb");
            }),
            Event::LayerStarted { diff_id } => self.layer(diff_id, |bar| {
                bar.set_message("");
            }),
            Event::LayerBytes { diff_id, bytes } => self.layer(diff_id, |bar| bar.inc(*bytes)),
            Event::LayerDone { diff_id } => self.layer(diff_id, |bar| {
                bar.finish_with_message("done");
            }),
            Event::Verifying { bytes } => self.start_verifying(*bytes),
            Event::VerifiedBytes { bytes } => {
                if let Some(bar) = self.verifying.get() {
                    bar.inc(*bytes);
                }
            }
            Event::Retrying {
                what,
                reason,
                after,
            } => {
                let what = crate::failure::printable(what);
                let reason = crate::failure::printable(reason);
                let line = format!("{what}: {reason}; again in {} s", after.as_secs());
                // Without a terminal this says nothing, and the outcome says enough.
                let _ = self.all.println(line);
            }
            Event::LayerNotes {
                diff_id,
                notes,
                total,
            } => self.notes(diff_id, notes, *total),
            _ => {}
        }
    }
}
