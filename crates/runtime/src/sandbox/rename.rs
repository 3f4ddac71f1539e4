use std::io;

use super::lock::ChangeLock;
use super::names::Names;
use super::{CreateError, Sandbox, Spec, record};
use crate::Home;

/// A failure to rename a sandbox.
#[derive(Debug, thiserror::Error)]
pub enum RenameError {
    /// The sandbox is running, and the guest uses its name.
    #[error("cannot rename sandbox {name} while it is running")]
    Running {
        /// The sandbox's current name.
        name: String,
    },
    /// The new name is taken, invalid or cannot be checked.
    #[error("cannot use the name")]
    Name(#[source] CreateError),
    /// The sandbox's description cannot be read or written.
    #[error("cannot rename sandbox {name}")]
    Io {
        /// The sandbox's current name.
        name: String,
        /// The error of the host's filesystem.
        #[source]
        source: io::Error,
    },
}

impl Sandbox {
    /// Gives a stopped sandbox another name. Its own name changes nothing, so that a call whose answer was lost can
    /// be repeated.
    ///
    /// # Errors
    /// If the sandbox is running, or the name is taken or invalid.
    pub fn rename(&mut self, home: &Home, name: &str) -> Result<(), RenameError> {
        let old_name = self.spec.name.clone();
        let io_error = |source| RenameError::Io {
            name: old_name.clone(),
            source,
        };
        let _change = ChangeLock::take(&self.files).map_err(io_error)?;
        let Some(lock) = self.lock().map_err(io_error)? else {
            return Err(RenameError::Running { name: old_name });
        };
        self.remove_unfinished(&lock);
        // Another process may have changed the description since the sandbox was found.
        let mut spec = Spec::read(&self.files.directory).map_err(io_error)?;
        if spec.name == name {
            self.spec = spec;
            return Ok(());
        }
        let names = Names::take(home).map_err(io_error)?;
        names.check_all([name]).map_err(RenameError::Name)?;
        spec.name = name.to_owned();
        record::write(&self.files, &spec).map_err(io_error)?;
        self.spec = spec;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Changes;

    fn made(home: &Home) -> Sandbox {
        let mut spec = Spec::for_tests("old");
        spec.upper_bytes = 1 << 20;
        let sandbox = Sandbox::for_tests(home, spec);
        fs_err::write(sandbox.files.upper(), []).expect("written");
        sandbox
    }

    fn found(home: &Home) -> Sandbox {
        let mut all = Sandbox::all(home).expect("listed");
        all.pop().expect("one")
    }

    const CHANGES: Changes = Changes {
        cpus: Some(3),
        memory_mib: None,
        upper_bytes: None,
    };

    #[test]
    fn what_was_changed_since_it_was_found_stays() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let mut seen_before = made(&home);
        found(&home).update(CHANGES).expect("changed");
        let left = seen_before.files.directory.join(".new-left");
        fs_err::write(&left, "of a rename that was killed").expect("written");
        seen_before.rename(&home, "new").expect("renamed");
        assert!(!left.exists());
        assert_eq!(seen_before.spec.cpus, 3);
        let now = found(&home).spec;
        assert_eq!((now.name.as_str(), now.cpus), ("new", 3));
    }

    #[test]
    fn its_own_name_is_no_other_sandboxs() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        made(&home).rename(&home, "old").expect("nothing changed");
        assert_eq!(found(&home).spec.name, "old");
    }

    #[test]
    fn what_starts_is_what_it_is_now() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let seen_before = made(&home);
        found(&home).update(CHANGES).expect("changed");
        let (now, lock) = seen_before.claim().expect("looked").expect("free");
        assert_eq!(now.spec.cpus, 3);
        assert!(seen_before.claim().expect("looked").is_none());
        drop(lock);
    }
}
