use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use durable_files::allocated_bytes;
use fs_err as fs;
use msb_network::Publish;

use super::lock::ChangeLock;
use super::own::OwnerLock;
use super::{Lock, ReadLock, Sandbox, SandboxPaths, SeenFiles, Spec, State, UpperPool, record};
use crate::Home;
use crate::published_ports::read_published;

impl Sandbox {
    /// Returns the sandbox's directory.
    pub fn directory(&self) -> &Path {
        &self.files.directory
    }

    /// Returns the ports of the host that lead into the sandbox.
    /// If the host chooses a port at each start, the port is 0 while the sandbox does not run.
    ///
    /// # Errors
    /// If the sandbox's lock cannot be opened.
    pub fn published(&self) -> io::Result<Vec<Publish>> {
        let wanted = || {
            let network = self.spec.network.as_ref();
            network.map_or_else(Vec::new, |network| network.publish.clone())
        };
        Ok(match self.state()? {
            State::Running | State::Paused => read_published(&self.files).unwrap_or_else(wanted),
            State::Created | State::Stopped => wanted(),
        })
    }

    /// Takes the right to start the sandbox; `None` while it is running.
    ///
    /// # Errors
    /// If the lock cannot be opened.
    pub fn lock(&self) -> io::Result<Option<Lock>> {
        Lock::take(&self.files)
    }

    /// Takes the right to start the sandbox and reads it again; `None` while it is running.
    /// Its description may have changed since the sandbox was found. Files that a killed process
    /// left unfinished are removed.
    ///
    /// # Errors
    /// If the sandbox is gone or cannot be read.
    pub fn claim(&self) -> io::Result<Option<(Self, Lock)>> {
        // A process that changes the description holds the sandbox's lock for a moment too.
        let _change = ChangeLock::take(&self.files)?;
        let lock = self.lock()?;
        lock.map(|lock| self.claimed(lock)).transpose()
    }

    /// Takes the right to start the sandbox in exchange for the right to read its disks, and reads it again. It is not
    /// started, changed or described otherwise in between; `None` if another process reads its disks, too. The right
    /// to read is lost in either case.
    ///
    /// # Errors
    /// If the sandbox is gone or cannot be read.
    pub fn claim_from(&self, reading: &ReadLock) -> io::Result<Option<(Self, Lock)>> {
        // Each process that starts or changes the sandbox takes this lock first.
        let _change = ChangeLock::take(&self.files)?;
        let lock = reading.upgrade()?;
        lock.map(|lock| self.claimed(lock)).transpose()
    }

    /// Reads the sandbox again and completes what a killed process left. The caller has the right to change the
    /// description.
    fn claimed(&self, lock: Lock) -> io::Result<(Self, Lock)> {
        let now = Self {
            spec: Spec::read(&self.files.directory)?,
            record_damage: None,
            staging: None,
            files: self.files.clone(),
        };
        now.settle_record()?;
        now.remove_unfinished(&lock);
        Ok((now, lock))
    }

    /// Makes the record and its copy whole, whichever is damaged, missing or of an earlier format.
    /// Returns true if one was.
    ///
    /// # Errors
    /// If neither can be read, or they cannot be written.
    pub fn repair_record(&self) -> io::Result<bool> {
        let _change = ChangeLock::take(&self.files)?;
        let now = Self {
            spec: Spec::read(&self.files.directory)?,
            ..self.clone()
        };
        now.settle_record()
    }

    /// Does what [`repair_record`](Self::repair_record) does. The caller has the right to change the
    /// description.
    fn settle_record(&self) -> io::Result<bool> {
        let is_settled = record::is_settled(&self.files, &self.spec)?;
        if !is_settled {
            record::write(&self.files, &self.spec)?;
        }
        Ok(!is_settled)
    }

    /// Returns true if the copy of the record is damaged or missing. A record of an earlier format has
    /// none.
    pub fn has_damaged_copy(&self) -> bool {
        record::has_damaged_copy(&self.files, &self.spec)
    }

    /// Takes the right to read the sandbox's disks; `None` while it is running.
    ///
    /// # Errors
    /// If the lock cannot be opened.
    pub fn read_lock(&self) -> io::Result<Option<ReadLock>> {
        ReadLock::take(&self.files)
    }

    /// Returns true if a sweep removes the sandbox, provided that it has stopped. An owner may still
    /// want to read it.
    fn is_removed_by_sweep(&self) -> bool {
        self.spec.is_removed_when_stopped() && matches!(OwnerLock::is_held(&self.files), Ok(false))
    }

    /// Removes the leftovers of processes that no longer run.
    /// These are stopped sandboxes that were to be removed, and directories that do not describe a
    /// sandbox.
    ///
    /// # Errors
    /// If the directory of sandboxes cannot be read.
    pub fn sweep(home: &Home) -> io::Result<()> {
        for sandbox in Self::all(home)? {
            if sandbox.is_removed_by_sweep() {
                // A running sandbox refuses, and another process's sweep may be faster.
                let _ = sandbox.remove();
            }
        }
        match fs::read_dir(home.sandboxes()) {
            Ok(entries) => entries
                .flatten()
                .for_each(|entry| sweep_remains(&entry.path())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Returns the size that an upper disk takes on the host's disk, with its snapshots and with what the sandbox
/// began with, in bytes.
pub(super) fn upper_allocated_bytes(files: &SandboxPaths) -> io::Result<u64> {
    unseen_bytes(files, &mut SeenFiles::new())
}

/// Returns the space of an upper disk as far as its files are not among `seen`, and adds them to it.
fn unseen_bytes(files: &SandboxPaths, seen: &mut SeenFiles) -> io::Result<u64> {
    let bytes = UpperPool::existing(files)?.unseen_bytes(seen)?;
    Ok(bytes.saturating_add(unseen_base_bytes(files, seen)?))
}

/// Returns the space of what a sandbox began with, unless that is among `seen`, and adds it.
fn unseen_base_bytes(files: &SandboxPaths, seen: &mut SeenFiles) -> io::Result<u64> {
    let base = match fs::metadata(files.base()) {
        Ok(base) => base,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let is_new = seen.insert((base.dev(), base.ino()));
    Ok(if is_new { allocated_bytes(&base) } else { 0 })
}

/// Removes a directory that describes no sandbox, unless a process is creating one in it.
fn sweep_remains(directory: &Path) {
    let files = SandboxPaths {
        directory: directory.to_owned(),
    };
    let old = fs::metadata(directory)
        .and_then(|metadata| metadata.modified())
        .is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > CREATION_TIMEOUT));
    let is_empty = matches!(fs::exists(files.spec()), Ok(false));
    if old && is_empty && is_nobodys(&files) {
        // The next sweep tries again.
        let _ = fs::remove_dir_all(directory);
    }
}

fn is_nobodys(files: &SandboxPaths) -> bool {
    match Lock::take_existing(files) {
        Ok(lock) => lock.is_some(),
        // The creation ended before the lock existed, or the removal after the lock was removed.
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Minimum age of a directory that is swept, far longer than a creation leaves it without a lock.
const CREATION_TIMEOUT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
