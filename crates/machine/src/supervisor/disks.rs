//! The machine's disks, and the failures that the guest reported of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use msb_agent_protocol::Client;
use msb_agent_protocol::v1::{DiskFailure, DiskFailureKind};
use msb_runtime::UPPER_SERIAL;
use msb_vmm::{Machine, ShareKind, Shown};
use rustix::fs::{StatVfsMountFlags, statvfs};

use crate::log::log_line;

/// Time for which the same failure of the same disk is not logged again.
/// The guest is hostile, and may report it as often as it likes.
const SILENCE: Duration = Duration::from_secs(30);
/// Free bytes below which the host's disk counts as full.
const FULL_BYTES: u64 = 1 << 20;

/// A disk of the machine, as the host knows it.
#[derive(Debug, Clone)]
pub(crate) struct WatchedDisk {
    serial: String,
    name: String,
    directory: PathBuf,
}

impl WatchedDisk {
    /// Returns all disks of a machine, including those that are entries of shares.
    pub(crate) fn all(machine: &Machine) -> Vec<Self> {
        let disks = machine.disks.iter();
        let disks = disks.map(|disk| Self::at(&disk.path, disk.serial.clone()));
        let entries = machine.shares.iter().flat_map(|share| {
            let entries = match &share.shown {
                Shown::Entries(entries) => &entries[..],
                Shown::Directory(_) => &[],
            };
            let disks = entries.iter().filter(|entry| entry.kind == ShareKind::Disk);
            disks.map(|entry| Self::at(&entry.path, format!("{}/{}", share.tag, entry.name)))
        });
        disks.chain(entries).collect()
    }

    fn at(path: &Path, serial: String) -> Self {
        Self {
            name: match serial.as_str() {
                UPPER_SERIAL => "its writable disk".to_owned(),
                _ => path.display().to_string(),
            },
            directory: path.parent().unwrap_or(Path::new("/")).to_owned(),
            serial,
        }
    }
}

/// The disks of a machine. Clones share their state.
#[derive(Debug, Clone)]
pub(super) struct Disks {
    watched: Arc<Vec<WatchedDisk>>,
    errors: Arc<Mutex<Errors>>,
}

/// The last failure of each kind, by the index of the disk and the number of the kind.
type Errors = BTreeMap<(usize, i32), Noted>;

#[derive(Debug)]
struct Noted {
    message: String,
    at: Instant,
}

impl Disks {
    pub(super) fn new(watched: Vec<WatchedDisk>) -> Self {
        Self {
            watched: Arc::new(watched),
            errors: Arc::default(),
        }
    }

    /// Returns a line for each failure of each disk.
    pub(super) fn errors(&self) -> Vec<String> {
        let errors = self.noted();
        errors.values().map(|noted| noted.message.clone()).collect()
    }

    /// Receives the agent's reports of failed disks and logs them, until the machine ends.
    pub(super) async fn follow(self, mut agent: Client) {
        // An older agent does not know this call.
        let Ok(mut failures) = agent.watch_disks().await else {
            return;
        };
        while let Ok(Some(failure)) = failures.message().await {
            if let Some(message) = self.note(&failure) {
                log_line(&message);
            }
        }
    }

    /// Records a failure and returns its message.
    /// `None` if the disk or the kind is unknown, or the same failure was recorded less than
    /// `SILENCE` ago.
    fn note(&self, failure: &DiskFailure) -> Option<String> {
        let is_it = |disk: &WatchedDisk| disk.serial == failure.serial;
        let number = self.watched.iter().position(is_it)?;
        let key = (number, failure.kind);
        let at = Instant::now();
        let is_recent = |noted: &Noted| at.duration_since(noted.at) < SILENCE;
        if self.noted().get(&key).is_some_and(is_recent) {
            return None;
        }
        let disk = &self.watched[number];
        let message = match failure.kind() {
            DiskFailureKind::Unknown => return None,
            DiskFailureKind::Read => format!("cannot read {}", disk.name),
            DiskFailureKind::Write => {
                format!("cannot write to {}: {}", disk.name, room(&disk.directory))
            }
            DiskFailureKind::ReadOnly => format!(
                "{} is read-only for the guest until the sandbox is stopped and started again",
                disk.name
            ),
        };
        let noted = Noted {
            message: message.clone(),
            at,
        };
        self.noted().insert(key, noted);
        Some(message)
    }

    fn noted(&self) -> MutexGuard<'_, Errors> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a phrase about the state of the host's disk that holds a directory.
fn room(directory: &Path) -> String {
    let state = match statvfs(directory) {
        Err(_) => "does not answer either".to_owned(),
        Ok(disk) => state(
            disk.f_bavail.saturating_mul(disk.f_frsize),
            disk.f_flag.contains(StatVfsMountFlags::RDONLY),
        ),
    };
    format!("the disk of {} {state}", directory.display())
}

fn state(free_bytes: u64, is_read_only: bool) -> String {
    match free_bytes {
        _ if is_read_only => "is read-only".to_owned(),
        ..FULL_BYTES => format!("is full, {free_bytes} bytes are free"),
        _ => format!("has {free_bytes} bytes free, so a quota or the disk itself is the cause"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(serial: &str, kind: DiskFailureKind) -> DiskFailure {
        DiskFailure {
            serial: serial.to_owned(),
            kind: kind.into(),
        }
    }

    fn disks(directory: &Path) -> Disks {
        let disk = |serial: &str, name: &str| WatchedDisk {
            serial: serial.to_owned(),
            name: name.to_owned(),
            directory: directory.to_owned(),
        };
        Disks::new(vec![
            disk(UPPER_SERIAL, "its writable disk"),
            disk("msb-volume-0", "/volumes/data/disk.ext4"),
        ])
    }

    #[test]
    fn each_failure_of_each_disk_is_said_once() {
        let root = tempfile::tempdir().expect("a directory");
        let disks = disks(root.path());
        let written = disks.note(&failure(UPPER_SERIAL, DiskFailureKind::Write));
        let written = written.expect("new");
        assert!(
            written.starts_with("cannot write to its writable disk: the disk of "),
            "{written}"
        );
        assert_eq!(
            disks.note(&failure(UPPER_SERIAL, DiskFailureKind::Write)),
            None
        );
        let read = disks.note(&failure("msb-volume-0", DiskFailureKind::Read));
        let expected = "cannot read /volumes/data/disk.ext4";
        assert_eq!(read.as_deref(), Some(expected));
        let closed = disks.note(&failure(UPPER_SERIAL, DiskFailureKind::ReadOnly));
        let closed = closed.expect("new");
        assert_eq!(disks.errors(), [written, closed, expected.to_owned()]);
    }

    #[test]
    fn what_a_guest_makes_up_is_not_noted() {
        let disks = disks(Path::new("/"));
        let unknown = failure("no-such-disk", DiskFailureKind::Write);
        assert_eq!(disks.note(&unknown), None);
        let made_up = DiskFailure {
            serial: UPPER_SERIAL.to_owned(),
            kind: 77,
        };
        assert_eq!(disks.note(&made_up), None);
        assert!(disks.errors().is_empty());
    }

    #[test]
    fn the_disk_below_is_said_to_be_what_it_is() {
        let missing = room(Path::new("/no/such/directory"));
        let expected = "the disk of /no/such/directory does not answer either";
        assert_eq!(missing, expected);
        assert_eq!(state(4096, false), "is full, 4096 bytes are free");
        assert_eq!(state(4096, true), "is read-only");
        let other = state(FULL_BYTES, false);
        assert!(
            other.starts_with("has 1048576 bytes free, so a quota"),
            "{other}"
        );
    }
}
