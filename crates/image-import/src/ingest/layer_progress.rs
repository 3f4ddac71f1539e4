use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use image_store::{Event, Progress};
use oci_image::Digest;

/// The progress of one layer. Bytes of a blob that is read again, from another source, are reported
/// once.
#[derive(Debug, Clone)]
pub(super) struct LayerProgress {
    progress: Arc<dyn Progress>,
    diff_id: Digest,
    /// Largest position that was reported.
    reported_bytes: Arc<AtomicU64>,
}

impl LayerProgress {
    pub(super) fn new(progress: Arc<dyn Progress>, diff_id: Digest) -> Self {
        Self {
            progress,
            diff_id,
            reported_bytes: Arc::default(),
        }
    }

    /// Returns a function that is told the bytes of one reading of the blob, from its start.
    pub(super) fn of_one_reading(&self) -> impl Fn(u64) + Send + Sync + use<> {
        let this = self.clone();
        let position_bytes = AtomicU64::new(0);
        move |bytes| {
            let position = position_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
            let reported = this.reported_bytes.fetch_max(position, Ordering::Relaxed);
            if position > reported {
                this.progress.event(&Event::LayerBytes {
                    diff_id: &this.diff_id,
                    bytes: position - reported,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Debug, Default)]
    struct Reported(Mutex<Vec<u64>>);

    impl Progress for Reported {
        fn event(&self, event: &Event<'_>) {
            if let Event::LayerBytes { bytes, .. } = event {
                self.0.lock().expect("a list").push(*bytes);
            }
        }
    }

    #[test]
    fn bytes_that_are_read_again_are_reported_once() {
        let reported = Arc::new(Reported::default());
        let progress = LayerProgress::new(reported.clone(), Digest::compute(b""));
        let first = progress.of_one_reading();
        first(10);
        first(5);
        let second = progress.of_one_reading();
        second(12);
        second(8);
        second(1);
        assert_eq!(*reported.0.lock().expect("a list"), [10, 5, 5, 1]);
    }
}
