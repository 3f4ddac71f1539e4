use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{output, terminal};

/// Greatest width of a bar, in columns.
const BAR_MAX: u16 = 30;
/// Columns of a line beside its bar: the label, two sizes, and the longest word that is usual.
const BESIDE_BAR: u16 = 50;

/// Progress bars on standard error, one for each layer of an image, by diff ID. They are hidden if it
/// is not a terminal.
#[derive(Debug)]
pub(crate) struct LayerBars {
    pub(crate) all: MultiProgress,
    layers: Mutex<HashMap<String, ProgressBar>>,
}

impl LayerBars {
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

    /// Keeps the bar of a layer, which is on the screen already.
    pub(crate) fn insert(&self, diff_id: &str, bar: ProgressBar) {
        bar.set_style(style());
        bar.set_prefix(short(diff_id));
        bar.set_message("waiting");
        self.layers().insert(diff_id.to_owned(), bar);
    }

    /// Changes the bar of a layer, if the layer has one.
    pub(crate) fn layer(&self, diff_id: &str, change: impl FnOnce(&ProgressBar)) {
        if let Some(bar) = self.layers().get(diff_id) {
            change(bar);
        }
    }

    /// Says above the bars that a registry is asked again.
    pub(crate) fn retrying(&self, what: &str, reason: &str, after_ms: u64) {
        let what = crate::failure::printable(what);
        let reason = crate::failure::printable(reason);
        let line = format!("{what}: {reason}; again in {} s", after_ms / 1000);
        // Without a terminal the line is not shown; the outcome is enough then.
        let _ = self.all.println(line);
    }

    fn layers(&self) -> MutexGuard<'_, HashMap<String, ProgressBar>> {
        // A panic may leave the bars in any state; only the display depends on it.
        self.layers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the form of every bar.
pub(crate) fn style() -> ProgressStyle {
    let width = bar_width(terminal::size().cols);
    let form = format!("{{prefix}} {{bar:{width}}} {{bytes:>10}}/{{total_bytes:<10}} {{msg}}");
    ProgressStyle::with_template(&form).expect("the template is well-formed")
}

/// Returns the form of the bar of work that has no known end.
pub(crate) fn working_style() -> ProgressStyle {
    let form = "{prefix} {spinner} {msg} ({elapsed})";
    ProgressStyle::with_template(form).expect("the template is well-formed")
}

/// Returns the width of a bar on a terminal of this width; 0 columns are an unknown width. A line that is
/// longer than the terminal would take two.
fn bar_width(columns: u16) -> u16 {
    match columns {
        0 => BAR_MAX,
        columns => columns.saturating_sub(BESIDE_BAR).clamp(1, BAR_MAX),
    }
}

/// Returns the first digits of a digest.
pub(crate) fn short(digest: &str) -> String {
    digest.chars().skip("sha256:".len()).take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_wide_as_the_terminal_has_room() {
        for (columns, width) in [(0, 30), (200, 30), (80, 30), (70, 20), (60, 10), (20, 1)] {
            assert_eq!(bar_width(columns), width, "{columns}");
        }
    }
}
