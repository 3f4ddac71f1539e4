//! Warnings of a registry client, collected beside the progress of a pull or a push.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use image_export::{PushEvent, PushProgress};
use image_store::{Event, Progress};
use msb_client::Notice;

/// The most warnings that are kept, each once. There is one for a registry and one for each mirror.
const KEPT_MAX: usize = 16;

/// A receiver of progress that keeps warnings, and passes everything else on.
#[derive(Debug)]
pub(crate) struct Warnings<P: ?Sized> {
    kept: Mutex<BTreeSet<String>>,
    progress: Arc<P>,
}

impl<P: ?Sized> Warnings<P> {
    pub(crate) fn new(progress: Arc<P>) -> Self {
        Self {
            kept: Mutex::default(),
            progress,
        }
    }

    /// Returns the warnings, each once, and forgets them.
    pub(crate) fn take(&self) -> Vec<Notice> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = std::mem::take(&mut *kept).into_iter();
        kept.map(|message| Notice::new("credentials", message))
            .collect()
    }

    fn keep(&self, message: &str) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT_MAX {
            kept.insert(msb_client::printable(message));
        }
    }
}

impl Progress for Warnings<dyn Progress> {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Warning { message } => self.keep(message),
            event => self.progress.event(event),
        }
    }
}

impl PushProgress for Warnings<dyn PushProgress> {
    fn event(&self, event: &PushEvent<'_>) {
        match event {
            PushEvent::Warning { message } => self.keep(message),
            event => self.progress.event(event),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_warning_is_kept_once_and_their_number_is_bounded() {
        let warnings: Warnings<dyn Progress> = Warnings::new(Arc::new(()));
        for number in 0..100 {
            for message in ["again", &format!("{number}\u{1b}[2J")] {
                warnings.event(&Event::Warning { message });
            }
        }
        let kept = warnings.take();
        assert_eq!(kept.len(), KEPT_MAX);
        assert!(kept.iter().all(|notice| !notice.message.contains('\u{1b}')));
        assert!(warnings.take().is_empty());
    }
}
