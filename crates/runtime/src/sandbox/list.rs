use std::io;
use std::path::Path;
use std::time::Duration;

use fs_err as fs;
use msb_network::Publish;

use super::lock::ChangeLock;
use super::{Files, Lock, ReadLock, RemoveError, Sandbox, Spec, State};
use crate::network_process::read_published;
use crate::{Home, allocated_bytes, durable};

impl Sandbox {
    /// Every sandbox in `home`, oldest first. A directory without a description is not one.
    ///
    /// # Errors
    /// When the directory of sandboxes cannot be read.
    pub fn all(home: &Home) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(home.sandboxes()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut sandboxes = Vec::new();
        for entry in entries {
            if let Ok(spec) = Spec::read(&entry?.path()) {
                sandboxes.push(Self::at(home, spec));
            }
        }
        sandboxes.sort_by(|a, b| {
            (a.spec.created_s, a.spec.id.as_str()).cmp(&(b.spec.created_s, b.spec.id.as_str()))
        });
        Ok(sandboxes)
    }

    /// The sandbox with this name, this id, or the one id that begins so.
    ///
    /// # Errors
    /// When the directory of sandboxes cannot be read.
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

    /// Whether a sandbox, running or not, is one of the image whose manifest has this digest.
    ///
    /// # Errors
    /// When the directory of sandboxes cannot be read.
    pub fn any_of(home: &Home, image_digest: &str) -> io::Result<bool> {
        let sandboxes = Self::all(home)?;
        Ok(sandboxes
            .iter()
            .any(|sandbox| sandbox.spec.image_digest == image_digest))
    }

    /// Where its files are.
    pub fn directory(&self) -> &Path {
        &self.files.directory
    }

    /// Returns the ports of the host that lead into it. Where the host chooses one at each start, it is 0
    /// while the sandbox does not run.
    ///
    /// # Errors
    /// When it cannot be seen whether it runs.
    pub fn published(&self) -> io::Result<Vec<Publish>> {
        let wanted = || {
            let network = self.spec.network.as_ref();
            network.map_or_else(Vec::new, |network| network.publish.clone())
        };
        Ok(match self.state()? {
            State::Running => read_published(&self.files).unwrap_or_else(wanted),
            State::Created | State::Stopped => wanted(),
        })
    }

    /// What its upper disk takes on the host's disk, in bytes: what was written, not its size.
    ///
    /// # Errors
    /// When the upper disk is not there.
    pub fn allocated_bytes(&self) -> io::Result<u64> {
        Ok(allocated_bytes(&fs::metadata(self.files.upper())?))
    }

    /// The right to start it, or `None` while it runs.
    ///
    /// # Errors
    /// When the lock cannot be opened.
    pub fn lock(&self) -> io::Result<Option<Lock>> {
        Lock::take(&self.files)
    }

    /// The right to start it, and the sandbox as it is now, which may have been changed since it was found;
    /// `None` while it runs.
    ///
    /// # Errors
    /// When it is gone, or cannot be read.
    pub fn claim(&self) -> io::Result<Option<(Self, Lock)>> {
        // Who changes it has its lock for a moment too.
        let _change = ChangeLock::take(&self.files)?;
        let Some(lock) = self.lock()? else {
            return Ok(None);
        };
        let now = Self {
            spec: Spec::read(&self.files.directory)?,
            files: self.files.clone(),
        };
        Ok(Some((now, lock)))
    }

    /// The right to read its disks, or `None` while it runs.
    pub(crate) fn read_lock(&self) -> io::Result<Option<ReadLock>> {
        ReadLock::take(&self.files)
    }

    /// Removes a stopped sandbox and its upper disk, durably. One that is to go when it has
    /// stopped goes with the next sweep if a power cut brings it back.
    ///
    /// # Errors
    /// When it runs, or its directory cannot be removed.
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
        let _lock = match Lock::take(&self.files) {
            Ok(Some(lock)) => lock,
            Ok(None) => {
                return Err(RemoveError::Running {
                    name: self.spec.name.clone(),
                });
            }
            Err(error) => return present(Err(error)),
        };
        // The description goes first: what is left of a removal cut short is no sandbox.
        present(fs::remove_file(self.files.spec()))?;
        present(fs::remove_dir_all(&self.files.directory))?;
        match self.files.directory.parent() {
            Some(sandboxes) if !self.spec.remove_when_stopped => {
                durable::sync_directory(sandboxes).map_err(io_error)
            }
            _ => Ok(()),
        }
    }

    /// Removes what dead processes left: stopped sandboxes that were to go, and directories that
    /// never became a sandbox or are none any more.
    ///
    /// # Errors
    /// When the directory of sandboxes cannot be read.
    pub fn sweep(home: &Home) -> io::Result<()> {
        for sandbox in Self::all(home)? {
            if sandbox.spec.remove_when_stopped {
                // One that runs refuses, and another process's sweep may be faster.
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

/// Removes a directory that describes no sandbox, unless somebody is just making it one.
fn sweep_remains(directory: &Path) {
    let files = Files {
        directory: directory.to_owned(),
    };
    let old = fs::metadata(directory)
        .and_then(|metadata| metadata.modified())
        .is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > CREATION_LIMIT));
    let is_empty = matches!(fs::exists(files.spec()), Ok(false));
    if old && is_empty && matches!(Lock::take(&files), Ok(Some(_))) {
        // What cannot be removed now is tried again by the next sweep.
        let _ = fs::remove_dir_all(directory);
    }
}

/// Far longer than a directory stands empty while its sandbox is created.
const CREATION_LIMIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_the_host_chose_are_those_of_a_machine_that_runs() {
        let root = tempfile::tempdir().expect("a directory");
        let mut spec = Spec::of_tests("a");
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
    fn a_sandbox_that_somebody_else_removed_is_removed() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = Sandbox::at(&Home::new(root.path()), Spec::of_tests("a"));
        fs::create_dir_all(&sandbox.files.directory).expect("created");
        let held = sandbox.lock().expect("a lock file").expect("free");
        assert!(matches!(
            sandbox.clone().remove(),
            Err(RemoveError::Running { .. })
        ));
        assert_eq!(sandbox.state().expect("looked"), State::Running);
        drop(held);
        sandbox.clone().remove().expect("removed");
        assert!(!sandbox.files.directory.exists());
        sandbox.remove().expect("as good as removed");
    }
}
