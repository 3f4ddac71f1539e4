use std::cell::Cell;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use oci_layers::{Exceeded, Limit, Limits};

use super::window::WindowMemory;

/// Remaining limits of one image, shared by its layers.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    pub(crate) limits: Limits,
    pub(crate) windows: WindowMemory,
    image_bytes: Arc<AtomicU64>,
}

/// A reader that counts decompressed bytes against a budget. Beyond a limit it fails with an
/// [`Exceeded`] as the inner error.
pub(crate) struct Metered<'a, R> {
    source: R,
    budget: &'a Budget,
    /// Number of compressed bytes that were read for them.
    read_bytes: &'a Cell<u64>,
    layer_bytes: u64,
    start: Instant,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            windows: WindowMemory::new(limits),
            image_bytes: Arc::default(),
        }
    }

    /// Returns a reader that counts the decompressed bytes of `source`. `read_bytes` is the number
    /// of compressed bytes read for them.
    pub(crate) fn meter<'a, R>(&'a self, source: R, read_bytes: &'a Cell<u64>) -> Metered<'a, R> {
        Metered {
            source,
            budget: self,
            read_bytes,
            layer_bytes: 0,
            start: Instant::now(),
        }
    }
}

impl<R> Metered<'_, R> {
    fn count(&mut self, bytes: u64) -> Result<(), Exceeded> {
        let Budget {
            limits,
            image_bytes,
            ..
        } = self.budget;
        self.layer_bytes = self.layer_bytes.saturating_add(bytes);
        let image_bytes = image_bytes.fetch_add(bytes, Ordering::Relaxed);
        limits.check(Limit::LayerBytes, self.layer_bytes)?;
        limits.check(Limit::ImageBytes, image_bytes.saturating_add(bytes))?;
        limits.check(Limit::LayerTime, self.start.elapsed().as_secs())?;
        if self.layer_bytes > limits.get(Limit::LayerRatioFrom) {
            let ratio = self.layer_bytes / self.read_bytes.get().max(1);
            limits.check(Limit::LayerRatio, ratio)?;
        }
        Ok(())
    }
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        let bytes = u64::try_from(count).unwrap_or(u64::MAX);
        self.count(bytes).map_err(io::Error::other)?;
        Ok(count)
    }
}

/// Returns the limit that a read exceeded.
///
/// # Errors
/// The unchanged error, if its cause is not a limit.
pub(crate) fn beyond(error: io::Error) -> Result<Exceeded, io::Error> {
    error.downcast::<Exceeded>()
}

/// A reader that counts the bytes read from a source.
pub(crate) struct Counted<'a, R> {
    source: R,
    read_bytes: &'a Cell<u64>,
}

impl<'a, R> Counted<'a, R> {
    pub(crate) const fn new(source: R, read_bytes: &'a Cell<u64>) -> Self {
        Self { source, read_bytes }
    }
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        let bytes = u64::try_from(count).unwrap_or(u64::MAX);
        self.read_bytes
            .set(self.read_bytes.get().saturating_add(bytes));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(setting: &str, lengths: &[u64], compressed_bytes: u64) -> Option<Limit> {
        let budget = Budget::new(&Limits::parse(setting).expect("the setting is valid"));
        let read_bytes = Cell::new(compressed_bytes);
        for &length in lengths {
            let mut layer = budget.meter(io::repeat(0).take(length), &read_bytes);
            if let Err(error) = io::copy(&mut layer, &mut io::sink()) {
                return Some(beyond(error).expect("it is a limit").limit);
            }
        }
        None
    }

    #[test]
    fn what_is_beyond_a_limit_is_refused() {
        assert_eq!(read("layer-bytes=100", &[100], 1), None);
        assert_eq!(read("layer-bytes=100", &[101], 1), Some(Limit::LayerBytes));
        assert_eq!(read("image-bytes=100", &[50, 50], 1), None);
        assert_eq!(
            read("image-bytes=100", &[50, 51], 1),
            Some(Limit::ImageBytes)
        );
        let ratio = "layer-ratio=10,layer-ratio-from=1000";
        assert_eq!(read(ratio, &[1000], 1), None);
        assert_eq!(read(ratio, &[1099], 100), None);
        assert_eq!(read(ratio, &[1100], 100), Some(Limit::LayerRatio));
    }

    #[test]
    fn a_layer_that_takes_too_long_is_refused() {
        let budget = Budget::new(&Limits::default().with(Limit::LayerTime, 0));
        let read_bytes = Cell::new(1);
        let mut layer = budget.meter(io::repeat(0), &read_bytes);
        layer.start = Instant::now()
            .checked_sub(std::time::Duration::from_secs(2))
            .expect("the machine has run for two seconds");
        let error = layer.read(&mut [0]).expect_err("it is late");
        assert!(error.to_string().contains("layer-time=0s"), "{error}");
    }
}
