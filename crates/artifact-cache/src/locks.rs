use std::fs::{self, File};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

/// The first and the longest pause between two attempts to take a lock.
const PAUSE_MIN: Duration = Duration::from_micros(100);
const PAUSE_MAX: Duration = Duration::from_millis(10);
/// The number of attempts: some 2 s. A process that was stopped while it fetches must not stop the others.
const ATTEMPTS: u32 = 200;

/// Locks between the processes of a host (flock(2)), so that one of them fetches a unit and the others find it in
/// the cache file. They save work and nothing else: without them every read is as right.
///
/// The files are those that all processes share, each opened by this process itself. A unit has one of them by its
/// number and its artifact's name, so units may share a lock. Locks end with their process.
#[derive(Debug)]
pub struct UnitLocks {
    stripes: Vec<Stripe>,
}

#[derive(Debug)]
struct Stripe {
    file: File,
    /// Held while this process has the lock: the file's lock does not tell its threads apart.
    thread: Mutex<()>,
}

/// A lock that is held.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    file: &'a File,
    _thread: MutexGuard<'a, ()>,
}

impl UnitLocks {
    /// Returns locks over these files.
    pub fn new(files: impl IntoIterator<Item = File>) -> Self {
        let stripe = |file| Stripe {
            file,
            thread: Mutex::default(),
        };
        Self {
            stripes: files.into_iter().map(stripe).collect(),
        }
    }

    /// Waits for the lock of a unit. `None` if there are no locks, they fail, or it is not free after some seconds.
    pub(crate) fn lock(&self, artifact: &str, unit: u64) -> Option<Held<'_>> {
        let stripe = self.stripe(artifact, unit)?;
        let mut pause = PAUSE_MIN;
        for _ in 0..ATTEMPTS {
            match stripe.try_lock() {
                Attempt::Taken(held) => return Some(held),
                Attempt::Failed => return None,
                Attempt::Busy => {}
            }
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
        None
    }

    fn stripe(&self, artifact: &str, unit: u64) -> Option<&Stripe> {
        // FNV-1a: all processes have to agree, also those of another version of Rust.
        let bytes = artifact.bytes().chain(unit.to_le_bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let stripes = crate::wide(self.stripes.len());
        self.stripes.get(crate::narrow(hash.checked_rem(stripes)?))
    }
}

/// An attempt to take a lock.
#[derive(Debug)]
enum Attempt<'a> {
    Taken(Held<'a>),
    Busy,
    /// The filesystem has no locks, so there is nothing to wait for.
    Failed,
}

impl Stripe {
    fn try_lock(&self) -> Attempt<'_> {
        let thread = match self.thread.try_lock() {
            Ok(thread) => thread,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Attempt::Busy,
        };
        match self.file.try_lock() {
            Ok(()) => Attempt::Taken(Held {
                file: &self.file,
                _thread: thread,
            }),
            Err(fs::TryLockError::WouldBlock) => Attempt::Busy,
            Err(fs::TryLockError::Error(_)) => Attempt::Failed,
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // It ends with the process at the latest.
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &std::path::Path) -> File {
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        options.open(path).unwrap()
    }

    #[test]
    fn a_lock_excludes_threads_and_other_openings_until_it_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let (one, other) = (UnitLocks::new([open(&path)]), UnitLocks::new([open(&path)]));
        let held = one.lock("layer", 3).unwrap();
        assert!(matches!(one.stripes[0].try_lock(), Attempt::Busy));
        assert!(matches!(other.stripes[0].try_lock(), Attempt::Busy));
        drop(held);
        assert!(other.lock("layer", 3).is_some());
        assert!(one.lock("layer", 4).is_some());
    }

    #[test]
    fn the_wait_for_a_lock_that_another_process_keeps_is_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let (one, other) = (UnitLocks::new([open(&path)]), UnitLocks::new([open(&path)]));
        let _held = one.lock("layer", 3).unwrap();
        assert!(other.lock("layer", 3).is_none());
        assert!(UnitLocks::new([]).lock("layer", 3).is_none());
    }
}
