//! The progress of work whose length in bytes is known.

use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::layer_bars::style;
use crate::output;

/// A progress bar on standard error. It is hidden if that is not a terminal.
#[derive(Debug)]
pub struct ByteBar(ProgressBar);

impl ByteBar {
    /// Returns a bar with a label; `quiet` shows none.
    pub fn new(label: &'static str, quiet: bool) -> Self {
        let target = if output::progress_is_seen(quiet) {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style());
        bar.set_prefix(label);
        Self(bar)
    }

    /// Adds bytes to those that are done, of `total_bytes`.
    pub fn advance(&self, bytes: u64, total_bytes: u64) {
        self.0.set_length(total_bytes);
        self.0.inc(bytes);
    }

    /// Removes the bar from the screen.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}
