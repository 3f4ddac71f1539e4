use std::io;
use std::path::Path;
use std::time::Duration;

use fs_err as fs;
use msb_network::Publish;

use super::lock::ChangeLock;
use super::own::OwnerLock;
use super::{
    Lock, ReadLock, RemoveError, Sandbox, SandboxPaths, SeenFiles, Spec, State, UpperPool,
};
use crate::published_ports::read_published;
use crate::{Home, allocated_bytes};

impl Sandbox {
    /// Returns every sandbox in `home`, oldest first. Directories without a description are
    /// skipped.
    ///
    /// # Errors
    /// If the directory of sandboxes cannot be read, or the disk fails while a description is read.
    pub fn all(home: &Home) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(home.sandboxes()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut sandboxes = Vec::new();
        for entry in entries {
            match Spec::read(&entry?.path()) {
                Ok(spec) => sandboxes.push(Self::at(home, spec)),
                Err(error) if is_no_sandbox(&error) => {}
                // After an I/O error of the disk, the sandbox exists although it cannot be read.
                Err(error) => return Err(error),
            }
        }
        sandboxes.sort_by(|a, b| {
            (a.spec.created_s, a.spec.id.as_str()).cmp(&(b.spec.created_s, b.spec.id.as_str()))
        });
        Ok(sandboxes)
    }

    /// Returns the sandbox with this name or id, or whose id alone begins with `name`.
    ///
    /// # Errors
    /// If the directory of sandboxes cannot be read.
    pub fn find(home: &Home, name: &str) -> io::Result<Option<Self>> {
        let mut sandboxes = Self::all(home)?;
        if let Some(index) = sandboxes
            .iter()
            .position(|sandbox| sandbox.spec.name == name)
        {
            return Ok(Some(sandboxes.swap_remove(index)));
        }
        sandboxes.retain(|sandbox| !name.is_empty() && sandbox.spec.id.as_str().starts_with(name));
        Ok(if sandboxes.len() == 1 {
            sandboxes.pop()
        } else {
            None
        })
    }

    /// Returns true if a sandbox, running or not, is of the image with this manifest digest.
    ///
    /// # Errors
    /// If the directory of sandboxes cannot be read.
    pub fn any_of(home: &Home, image_digest: &str) -> io::Result<bool> {
        let sandboxes = Self::all(home)?;
        Ok(sandboxes
            .iter()
            .any(|sandbox| sandbox.spec.image_digest == image_digest))
    }

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

    /// Returns the size that the upper disk takes on the host's disk, with its snapshots, in bytes.
    /// This is the size of the written blocks, not of the disk.
    ///
    /// # Errors
    /// If the upper disk does not exist.
    pub fn allocated_bytes(&self) -> io::Result<u64> {
        match UpperPool::find(&self.files)? {
            Some(pool) => pool.allocated_bytes(),
            None => Ok(allocated_bytes(&fs::metadata(self.files.upper())?)),
        }
    }

    /// Returns the space that the upper disk takes as far as its files are not among `seen`, and adds them
    /// to it: forks share files.
    ///
    /// # Errors
    /// Fails as [`Sandbox::allocated_bytes`] does.
    pub fn unseen_bytes(&self, seen: &mut SeenFiles) -> io::Result<u64> {
        match UpperPool::find(&self.files)? {
            Some(pool) => pool.unseen_bytes(seen),
            None => self.allocated_bytes(),
        }
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
        let Some(lock) = self.lock()? else {
            return Ok(None);
        };
        let now = Self {
            spec: Spec::read(&self.files.directory)?,
            files: self.files.clone(),
        };
        now.remove_unfinished(&lock);
        Ok(Some((now, lock)))
    }

    /// Takes the right to read the sandbox's disks; `None` while it is running.
    pub(crate) fn read_lock(&self) -> io::Result<Option<ReadLock>> {
        ReadLock::take(&self.files)
    }

    /// Removes a stopped sandbox and its upper disk, durably.
    /// If the sandbox was to be removed once it stopped, and a power cut brings it back, the next
    /// sweep removes it.
    ///
    /// # Errors
    /// If the sandbox is running, or its directory cannot be removed.
    pub fn remove(self) -> Result<(), RemoveError> {
        let io_error = |source| RemoveError::Io {
            directory: self.files.directory.clone(),
            source,
        };
        // Another process's sweep may be faster: a sandbox that is gone is removed.
        let present = |result: io::Result<()>| match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(error)),
            _ => Ok(()),
        };
        let _lock = match Lock::take_existing(&self.files) {
            Ok(Some(lock)) => Some(lock),
            Ok(None) => {
                // The lock's holder may be removing the sandbox.
                if !fs::exists(self.files.spec()).map_err(io_error)? {
                    return Ok(());
                }
                return Err(RemoveError::Running {
                    name: self.spec.name.clone(),
                });
            }
            // The sandbox is gone or almost gone: a lock that does not exist has no holder.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io_error(error)),
        };
        // The description goes first, so that a removal that is cut short leaves no sandbox.
        present(fs::remove_file(self.files.spec()))?;
        present(remove_tree(&self.files.directory))?;
        match self.files.directory.parent() {
            Some(sandboxes) if !self.spec.is_removed_when_stopped() => {
                durable_files::sync_directory(sandboxes).map_err(io_error)
            }
            _ => Ok(()),
        }
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

/// Removes a directory. A process that merges generations in the background may make a file in it
/// meanwhile: it makes no directory, so it fails once its own is gone.
fn remove_tree(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            fs::remove_dir_all(directory)
        }
        removed => removed,
    }
}

/// Returns true if an error means that a directory describes no sandbox, not that it could not be read.
fn is_no_sandbox(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::InvalidData
            | io::ErrorKind::UnexpectedEof
    )
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
mod tests {
    use super::*;
    use crate::ConnectError;

    #[test]
    fn ports_that_the_host_chose_are_those_of_a_machine_that_runs() {
        let root = tempfile::tempdir().expect("a directory");
        let mut spec = Spec::for_tests("a");
        let wanted: Vec<Publish> = vec!["80".parse().expect("a port")];
        spec.network = Some(msb_network::Settings {
            publish: wanted.clone(),
            ..msb_network::Settings::default()
        });
        let sandbox = Sandbox::at(&Home::new(root.path()), spec);
        fs::create_dir_all(&sandbox.files.directory).expect("created");
        fs::write(sandbox.files.ports(), r#"["127.0.0.1:32768:80/tcp"]"#).expect("written");
        assert_eq!(sandbox.published().expect("looked"), wanted);
        let held = sandbox.lock().expect("a lock file").expect("free");
        let chosen = sandbox.published().expect("looked");
        assert_eq!(chosen[0].host.port(), 32_768);
        drop(held);
    }

    #[test]
    fn what_cannot_be_read_is_not_taken_for_what_is_not_there() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let sandbox = Sandbox::for_tests(&home, Spec::for_tests("a"));
        let beside = |name: &str| home.sandboxes().join(name);
        fs::create_dir(beside("empty")).expect("made");
        fs::write(beside("file"), "").expect("written");
        for (name, text) in [("cut", "{"), ("other", "[1]")] {
            fs::create_dir(beside(name)).expect("made");
            fs::write(beside(name).join("sandbox.json"), text).expect("written");
        }
        assert_eq!(Sandbox::all(&home).expect("listed").len(), 1);
        // Reading a process's own memory from its start gives EIO, as a broken disk does.
        fs::remove_file(sandbox.files.spec()).expect("removed");
        std::os::unix::fs::symlink("/proc/self/mem", sandbox.files.spec()).expect("linked");
        let error = Sandbox::all(&home).expect_err("unreadable").to_string();
        assert!(error.contains("sandbox.json"), "{error}");
    }

    #[test]
    fn a_sandbox_that_somebody_else_removed_is_removed() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = Sandbox::for_tests(&Home::new(root.path()), Spec::for_tests("a"));
        let held = sandbox.lock().expect("a lock file").expect("free");
        assert!(matches!(
            sandbox.clone().remove(),
            Err(RemoveError::Running { .. })
        ));
        assert_eq!(sandbox.state().expect("looked"), State::Running);
        // A process that removes the sandbox does this first.
        fs::remove_file(sandbox.files.spec()).expect("removed");
        sandbox.clone().remove().expect("as good as removed");
        fs::remove_file(sandbox.files.lock()).expect("removed");
        drop(held);
        assert_eq!(sandbox.state().expect("looked"), State::Created);
        assert!(!sandbox.files.lock().exists());
        sandbox.clone().remove().expect("removed");
        assert!(!sandbox.files.directory.exists());
        sandbox.remove().expect("as good as removed");
    }

    #[tokio::test]
    async fn a_sandbox_that_is_gone_does_not_run() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = Sandbox::for_tests(&Home::new(root.path()), Spec::for_tests("a"));
        fs::remove_dir_all(&sandbox.files.directory).expect("removed");
        let not_running = |outcome| matches!(outcome, Err(ConnectError::NotRunning { .. }));
        assert!(not_running(sandbox.kill().await));
        let stopped = sandbox.stop(Duration::from_secs(1), None).await;
        assert!(not_running(stopped.map(|_| ())));
        sandbox.wait().await.expect("nothing to wait for");
    }
}
