use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use oci_image::{Descriptor, Digest, Hasher};

use super::body::Feed;
use super::content::{BlobBytes, ReadError};
use crate::error::RegistryError;
use crate::limits::RegistryLimits;

/// A receiver of an upload's progress.
pub trait UploadProgress: Debug + Send + Sync {
    /// Receives the number of the blob's bytes that are on their way. It goes back if the upload is
    /// resumed at an earlier byte.
    fn position(&self, position_bytes: u64);
}

/// Ignores the progress.
impl UploadProgress for () {
    fn position(&self, _: u64) {}
}

/// State of a blob's upload that all of its attempts share.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) blob: Descriptor,
    /// Name of the blob in messages.
    pub(super) what: String,
    pub(super) source: Arc<dyn BlobBytes>,
    progress: Arc<dyn UploadProgress>,
    state: Mutex<State>,
}

struct State {
    /// Number of the current attempt. The body of an earlier one may still be read for a while.
    attempt: u64,
    /// Position of the bytes that were handed to the network.
    position_bytes: u64,
    /// Time at which the last bytes were handed over, or at which the source was waited for.
    moved: Instant,
    /// True while the source has no bytes ready, which is not the registry's fault.
    is_source_awaited: bool,
    hasher: Hasher,
    /// Number of bytes that were hashed since the upload last began at the first byte. What is sent
    /// again after that is not hashed again.
    hashed_bytes: u64,
    failure: Option<RegistryError>,
    feed: Option<Feed>,
}

impl Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "State({} bytes)", self.position_bytes)
    }
}

impl Transfer {
    pub(super) fn new(
        blob: Descriptor,
        source: Arc<dyn BlobBytes>,
        progress: Arc<dyn UploadProgress>,
    ) -> Self {
        let state = State {
            attempt: 0,
            position_bytes: 0,
            moved: Instant::now(),
            is_source_awaited: false,
            hasher: Hasher::default(),
            hashed_bytes: 0,
            failure: None,
            feed: None,
        };
        Self {
            blob,
            what: format!("blob {}", blob.digest),
            source,
            progress,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an attempt at `start_bytes`, and returns its number.
    pub(super) fn begin(&self, start_bytes: u64) -> u64 {
        let attempt = {
            let mut state = self.state();
            state.attempt += 1;
            state.position_bytes = start_bytes;
            state.moved = Instant::now();
            state.is_source_awaited = false;
            state.failure = None;
            state.attempt
        };
        self.progress.position(start_bytes);
        attempt
    }

    /// Returns the source's bytes from `start_bytes` on: those that an earlier attempt left, or new
    /// ones.
    pub(super) fn feed(self: &Arc<Self>, start_bytes: u64) -> Feed {
        let left = self.state().feed.take();
        match left {
            Some(feed) if feed.position_bytes() == start_bytes => feed,
            _ => Feed::open(self, start_bytes),
        }
    }

    /// Keeps the rest of the source's bytes for the next attempt.
    pub(super) fn keep(&self, attempt: u64, feed: Feed) {
        let mut state = self.state();
        if state.attempt == attempt {
            state.feed = Some(feed);
        }
    }

    /// Notes that the source has no bytes ready.
    pub(super) fn await_source(&self, attempt: u64) {
        let mut state = self.state();
        if state.attempt == attempt {
            state.is_source_awaited = true;
            state.moved = Instant::now();
        }
    }

    /// Notes that bytes are handed to the network. Returns false if the attempt is over.
    pub(super) fn hand_over(&self, attempt: u64, bytes: &Bytes) -> bool {
        let length_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let position_bytes = {
            let mut state = self.state();
            if state.attempt != attempt {
                return false;
            }
            let start_bytes = state.position_bytes;
            // An upload that begins anew is hashed anew, because its source may give other bytes.
            if start_bytes == 0 {
                state.hasher = Hasher::default();
                state.hashed_bytes = 0;
            }
            let known = state.hashed_bytes.saturating_sub(start_bytes);
            let known = usize::try_from(known).unwrap_or(usize::MAX);
            if let Some(new) = bytes.get(known..) {
                state.hasher.update(new);
                state.hashed_bytes = state.hashed_bytes.max(start_bytes + length_bytes);
            }
            state.position_bytes += length_bytes;
            state.is_source_awaited = false;
            state.moved = Instant::now();
            state.position_bytes
        };
        self.progress.position(position_bytes);
        true
    }

    /// Records that the source failed; the first failure counts.
    pub(super) fn fail(&self, source: ReadError) {
        let failure = RegistryError::Source {
            what: self.what.clone(),
            source,
        };
        self.state().failure.get_or_insert(failure);
    }

    /// Takes the failure of the source; `None` if it has not failed.
    pub(super) fn failure(&self) -> Option<RegistryError> {
        self.state().failure.take()
    }

    /// Returns the number of bytes that were handed to the network since the upload last began at
    /// the first byte.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.state().hashed_bytes
    }

    /// Checks the digest of the bytes that were sent, so that a source that is not what it says is
    /// not published, whatever the registry checks. Of bytes that were sent twice because the upload
    /// was resumed at an earlier byte, those of the first time count; the registry checks the others.
    pub(super) fn check(&self) -> Result<(), RegistryError> {
        let state = self.state();
        let (actual, expected) = (state.hasher.clone().finish(), self.blob.digest);
        if actual == expected && state.hashed_bytes == self.blob.size_bytes {
            return Ok(());
        }
        Err(RegistryError::SourceDigest {
            what: self.what.clone(),
            expected,
            actual,
        })
    }

    /// Checks the digest that a registry states for the blob, if it states one.
    pub(super) fn check_stored(
        &self,
        registry: String,
        stated: Option<Digest>,
    ) -> Result<(), RegistryError> {
        match stated {
            Some(actual) if actual != self.blob.digest => Err(RegistryError::StoredDigest {
                registry,
                what: self.what.clone(),
                actual,
            }),
            _ => Ok(()),
        }
    }

    /// Returns an error once the registry takes no bytes for too long, or too few, or does not
    /// answer after the last byte, which is at `end_bytes`. Time in which the source has no bytes
    /// ready does not count.
    pub(super) async fn stalled(&self, limits: &RegistryLimits, end_bytes: u64) -> RegistryError {
        let tick = (limits.idle / 8).max(Duration::from_millis(1));
        let (mut window, mut window_start_bytes) = (Instant::now(), self.state().position_bytes);
        loop {
            tokio::time::sleep(tick).await;
            let (position_bytes, still, is_source_awaited) = {
                let state = self.state();
                let still = state.moved.elapsed();
                (state.position_bytes, still, state.is_source_awaited)
            };
            if is_source_awaited {
                (window, window_start_bytes) = (Instant::now(), position_bytes);
                continue;
            }
            let is_all = position_bytes >= end_bytes;
            let after = if is_all { limits.finish } else { limits.idle };
            if still >= after {
                let what = self.what.clone();
                return RegistryError::Stalled { what, after };
            }
            if !is_all && window.elapsed() >= limits.pace_window {
                let bytes = position_bytes.saturating_sub(window_start_bytes);
                if bytes < limits.pace_bytes {
                    return RegistryError::Slow {
                        what: self.what.clone(),
                        bytes,
                        within: window.elapsed(),
                    };
                }
                (window, window_start_bytes) = (Instant::now(), position_bytes);
            }
        }
    }
}
