use std::sync::{Arc, Condvar, Mutex, PoisonError};

use oci_layers::{Limit, Limits};

/// `ZSTD_MAGICNUMBER`, little-endian (RFC 8878, 3.1.1).
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Smallest window of a decoder, in bytes: the recommended minimum (RFC 8878, 3.1.1.1.2).
const COMMON_WINDOW_BYTES: u64 = 8 << 20;

/// Memory for the windows of all zstd streams that are read at once: as much as one stream may
/// have. A stream that needs more than is free waits.
#[derive(Debug, Clone)]
pub(crate) struct WindowMemory {
    most_bytes: u64,
    left: Arc<Left>,
}

#[derive(Debug)]
struct Left {
    bytes: Mutex<u64>,
    more: Condvar,
}

/// The memory of one stream, which is returned when this is dropped.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) bytes: u64,
    left: Arc<Left>,
}

impl WindowMemory {
    pub(crate) fn new(limits: &Limits) -> Self {
        let most_bytes = limits.get(Limit::LayerWindow).max(1);
        let left = Left {
            bytes: Mutex::new(most_bytes),
            more: Condvar::new(),
        };
        Self {
            most_bytes,
            left: Arc::new(left),
        }
    }

    /// Waits for the window of a stream that begins with `head`. If `head` does not state a size,
    /// the window takes all memory.
    pub(crate) fn take(&self, head: &[u8]) -> Window {
        let asked = frame_window_bytes(head).unwrap_or(self.most_bytes);
        let asked = asked.max(COMMON_WINDOW_BYTES).checked_next_power_of_two();
        let bytes = asked.unwrap_or(self.most_bytes).min(self.most_bytes);
        let left = &self.left;
        let locked = left.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut locked = left
            .more
            .wait_while(locked, |left| *left < bytes)
            .unwrap_or_else(PoisonError::into_inner);
        *locked -= bytes;
        Window {
            bytes,
            left: Arc::clone(left),
        }
    }
}

impl Window {
    /// Returns true if the window has the largest permitted size.
    pub(crate) fn is_largest(&self, limits: &Limits) -> bool {
        self.bytes >= limits.get(Limit::LayerWindow)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let mut left = self
            .left
            .bytes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *left += self.bytes;
        self.left.more.notify_all();
    }
}

/// Returns the window size that a frame header asks for, in bytes (RFC 8878, 3.1.1.1); `None` for a
/// skippable frame and a header that is cut short.
fn frame_window_bytes(head: &[u8]) -> Option<u64> {
    let (descriptor, rest) = head.strip_prefix(&ZSTD_MAGIC)?.split_first()?;
    let is_single_segment = descriptor & 0x20 != 0;
    if !is_single_segment {
        let window = rest.first()?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    let dictionary_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content = rest.get(dictionary_bytes..)?;
    match descriptor >> 6 {
        0 => content.first().map(|&byte| byte.into()),
        1 => content
            .first_chunk()
            .map(|two| u64::from(u16::from_le_bytes(*two)) + 256),
        2 => content
            .first_chunk()
            .map(|four| u32::from_le_bytes(*four).into()),
        _ => content
            .first_chunk()
            .map(|eight| u64::from_le_bytes(*eight)),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn headers_say_their_window() {
        let frame = |rest: &[u8]| frame_window_bytes(&[&ZSTD_MAGIC[..], rest].concat());
        assert_eq!(frame(&[0, 0]), Some(1024));
        assert_eq!(frame(&[0, 13 << 3]), Some(8 << 20));
        assert_eq!(frame(&[0, (17 << 3) | 4]), Some(192 << 20));
        assert_eq!(frame(&[0x20, 7]), Some(7));
        assert_eq!(frame(&[0x62, 0, 0, 1, 0]), Some(257));
        assert_eq!(frame(&[0xa0, 0, 0, 0, 1]), Some(1 << 24));
        assert_eq!(frame(&[0xe0, 0, 0, 0, 0, 1, 0, 0, 0]), Some(1 << 32));
        assert_eq!(frame(&[0xe0, 0, 0, 0]), None);
        assert_eq!(
            frame_window_bytes(&[0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]),
            None
        );
    }

    #[test]
    fn who_needs_too_much_waits() {
        let memory = WindowMemory::new(&Limits::default());
        let head = |log: u8| [&ZSTD_MAGIC[..], &[0, (log - 10) << 3]].concat();
        let large = memory.take(&head(27));
        assert_eq!(large.bytes, 128 << 20);
        let other = memory.clone();
        let waiting = thread::spawn(move || other.take(&head(10)).bytes);
        thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished());
        drop(large);
        assert_eq!(waiting.join().expect("it ends"), COMMON_WINDOW_BYTES);
        assert_eq!(memory.take(b"").bytes, 128 << 20);
    }
}
