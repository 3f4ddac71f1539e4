use std::io;

use ext4_writer::SIZE_MAX_BYTES;
use fs_err as fs;

use super::lock::ChangeLock;
use super::{Sandbox, Spec, record, upper};
use crate::mounts::MountError;

/// Changes that take effect at a sandbox's next start. `None` keeps the current value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// Number of virtual processors.
    pub cpus: Option<u8>,
    /// Guest memory, in MiB.
    pub memory_mib: Option<u32>,
    /// Size of the upper disk, in bytes; at least its current size.
    pub upper_bytes: Option<u64>,
}

/// A failure to update a sandbox. Its description is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The disk would shrink, and its files may be anywhere on it.
    #[error(
        "the writable disk of sandbox {name} has {size_bytes} bytes and cannot shrink to {wanted_bytes}"
    )]
    Shrinks {
        /// The sandbox's name.
        name: String,
        /// The current size, in bytes.
        size_bytes: u64,
        /// The requested size, in bytes.
        wanted_bytes: u64,
    },
    /// The size exceeds the limit of ext4.
    #[error(
        "a writable disk of {wanted_bytes} bytes is too large, the limit is {SIZE_MAX_BYTES} bytes"
    )]
    TooLarge {
        /// The requested size, in bytes.
        wanted_bytes: u64,
    },
    /// The rules of a staged directory cannot be kept.
    #[error(transparent)]
    Rules {
        /// The reason.
        source: Box<MountError>,
    },
    /// The sandbox was removed meanwhile.
    #[error("sandbox {name} no longer exists")]
    Gone {
        /// The sandbox's name.
        name: String,
    },
    /// The sandbox's description cannot be read or written.
    #[error("cannot change sandbox {name}")]
    Io {
        /// The sandbox's name.
        name: String,
        /// The error of the host's filesystem.
        #[source]
        source: io::Error,
    },
}

impl Sandbox {
    /// Changes the resources of the sandbox's next machine. A running machine is unchanged.
    ///
    /// # Errors
    /// A disk that would shrink or exceed its filesystem's limit, a description that cannot be
    /// written.
    pub fn update(&mut self, changes: Changes) -> Result<(), UpdateError> {
        self.change_description(|spec| changes.apply(spec))
    }

    /// Changes the sandbox's description, as it is on the disk at this moment. A running machine is unchanged.
    ///
    /// # Errors
    /// If the change is refused, the description cannot be written, or the sandbox no longer exists.
    pub fn change_description(
        &mut self,
        change: impl FnOnce(&mut Spec) -> Result<(), UpdateError>,
    ) -> Result<(), UpdateError> {
        let name = self.spec.name.clone();
        let io_error = |source| UpdateError::Io {
            name: name.clone(),
            source,
        };
        // The locks prevent another change, a start and a removal meanwhile.
        let _change = ChangeLock::take(&self.files).map_err(io_error)?;
        let lock = self.lock().map_err(io_error)?;
        if let Some(lock) = &lock {
            // A change that was killed has left some.
            self.remove_unfinished(lock);
        }
        let mut spec = Spec::read(&self.files.directory).map_err(io_error)?;
        change(&mut spec)?;
        record::write(&self.files, &spec).map_err(io_error)?;
        if !self.files.has_upper().map_err(io_error)? {
            // The sandbox stopped and was removed during the write; the new file describes no
            // sandbox.
            let _ = fs::remove_dir_all(&self.files.directory);
            return Err(UpdateError::Gone { name });
        }
        self.spec = spec;
        Ok(())
    }
}

impl Changes {
    fn apply(self, spec: &mut Spec) -> Result<(), UpdateError> {
        if let Some(wanted_bytes) = self.upper_bytes.map(upper::size_bytes) {
            if wanted_bytes < spec.upper_bytes {
                return Err(UpdateError::Shrinks {
                    name: spec.name.clone(),
                    size_bytes: spec.upper_bytes,
                    wanted_bytes,
                });
            }
            if wanted_bytes > SIZE_MAX_BYTES {
                return Err(UpdateError::TooLarge { wanted_bytes });
            }
            spec.upper_bytes = wanted_bytes;
        }
        spec.cpus = self.cpus.unwrap_or(spec.cpus);
        spec.memory_mib = self.memory_mib.unwrap_or(spec.memory_mib);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::UpperPool;
    use crate::{Home, Target};

    /// A description that msb wrote before it had limits, signals and networks.
    const OLD: &str = r#"{"id":"0123456789ab","name":"old","image":"i","image_digest":"d",
        "created_s":1,"cpus":1,"memory_mib":512,"upper_bytes":16777216,"remove_when_stopped":false,
        "process":{"argv":["sh"],"env":[],"working_directory":"","user":"","terminal":false,
        "stdin":false}}"#;

    fn old_sandbox(home: &Home) -> Sandbox {
        let directory = home.sandboxes().join("0123456789ab");
        fs::create_dir_all(&directory).expect("created");
        fs::write(directory.join("sandbox.json"), OLD).expect("written");
        fs::write(directory.join("upper.ext4"), []).expect("written");
        let mut all = Sandbox::all(home).expect("listed");
        all.pop().expect("an old description is one")
    }

    #[test]
    fn changes_are_kept_and_a_disk_grows_at_the_next_start_only() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let mut sandbox = old_sandbox(&home);
        assert_eq!(sandbox.spec.stopping.timeout_s, 10);
        let changes = Changes {
            cpus: Some(3),
            upper_bytes: Some(32 << 20),
            ..Changes::default()
        };
        sandbox.update(changes).expect("changed");
        let spec = Spec::read(sandbox.directory()).expect("readable");
        assert_eq!(
            (spec.cpus, spec.memory_mib, spec.upper_bytes),
            (3, 512, 32 << 20)
        );
        let raw = fs::metadata(sandbox.files.upper()).expect("there");
        assert_eq!(raw.len(), 0);
        upper::grow(&sandbox.files, &spec).expect("grown");
        let length = || {
            let pool = UpperPool::existing(&sandbox.files).expect("adopted");
            pool.size_bytes().expect("read")
        };
        assert_eq!(length(), 32 << 20);
        upper::grow(
            &sandbox.files,
            &Spec {
                upper_bytes: 1,
                ..spec
            },
        )
        .expect("left alone");
        assert_eq!(length(), 32 << 20);
    }

    #[test]
    fn each_change_is_made_to_the_newest_description_and_to_none_of_a_removed_sandbox() {
        let root = tempfile::tempdir().expect("a directory");
        let mut sandbox = old_sandbox(&Home::new(root.path()));
        let mut seen_before = sandbox.clone();
        let changes = Changes {
            cpus: Some(3),
            ..Changes::default()
        };
        let target: Target = "/work".parse().expect("a target");
        let rule = || "a=allow".parse::<path_rules::Rule>().expect("a rule");
        sandbox.update(changes).expect("changed");
        let left = sandbox.files.directory.join(".new-left");
        fs::write(&left, "half a description").expect("written");
        let reading = sandbox.read_lock().expect("looked").expect("free");
        seen_before.keep_rule(&target, rule()).expect("kept");
        assert!(left.exists(), "a process may be writing it");
        drop(reading);
        seen_before.keep_rule(&target, rule()).expect("kept");
        assert!(!left.exists());
        assert_eq!(seen_before.spec.cpus, 3);
        fs::remove_file(sandbox.files.upper()).expect("removed");
        let refused = sandbox.keep_rule(&target, rule()).expect_err("removed");
        assert!(matches!(refused, UpdateError::Gone { .. }), "{refused}");
        assert!(!sandbox.files.directory.exists());
    }

    #[test]
    fn what_cannot_be_is_refused_and_changes_nothing() {
        let root = tempfile::tempdir().expect("a directory");
        let mut sandbox = old_sandbox(&Home::new(root.path()));
        for (upper_bytes, shrinks) in [(1 << 20, true), (SIZE_MAX_BYTES + 1, false)] {
            let changes = Changes {
                cpus: Some(2),
                upper_bytes: Some(upper_bytes),
                ..Changes::default()
            };
            let error = sandbox.update(changes).expect_err("refused");
            assert_eq!(
                matches!(error, UpdateError::Shrinks { .. }),
                shrinks,
                "{error}"
            );
            assert_eq!(Spec::read(sandbox.directory()).expect("readable").cpus, 1);
        }
    }
}
