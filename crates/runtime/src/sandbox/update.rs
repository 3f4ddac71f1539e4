use std::io;

use ext4_writer::SIZE_MAX_BYTES;
use fs_err as fs;

use super::create::write_spec;
use super::lock::ChangeLock;
use super::{Sandbox, Spec};

/// What is to be otherwise from a sandbox's next start on. `None` keeps what is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// Virtual processors.
    pub cpus: Option<u8>,
    /// Guest memory, in MiB.
    pub memory_mib: Option<u32>,
    /// Size of the upper disk, in bytes; no smaller than it is.
    pub upper_bytes: Option<u64>,
}

/// Why a sandbox is as it was.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// Files may be anywhere on the disk.
    #[error(
        "the writable disk of sandbox {name} has {size_bytes} bytes and cannot shrink to {wanted_bytes}"
    )]
    Shrinks {
        /// Its name.
        name: String,
        /// How large it is.
        size_bytes: u64,
        /// How large it was to be.
        wanted_bytes: u64,
    },
    /// No ext4 is so large.
    #[error("a writable disk has at most {SIZE_MAX_BYTES} bytes, not {wanted_bytes}")]
    TooLarge {
        /// How large it was to be.
        wanted_bytes: u64,
    },
    /// It was removed meanwhile.
    #[error("sandbox {name} is gone")]
    Gone {
        /// Its name.
        name: String,
    },
    /// Its description cannot be written.
    #[error("cannot change sandbox {name}")]
    Io {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Sandbox {
    /// Changes what its next machine is made of. One that runs goes on as it is.
    ///
    /// # Errors
    /// A disk that would shrink or grow beyond what its filesystem can, a description that cannot be
    /// written.
    pub fn update(&mut self, changes: Changes) -> Result<(), UpdateError> {
        let name = self.spec.name.clone();
        let io_error = |source| UpdateError::Io {
            name: name.clone(),
            source,
        };
        // One change at a time; and none of a sandbox that is started or removed just now.
        let _change = ChangeLock::take(&self.files).map_err(io_error)?;
        let _lock = self.lock().map_err(io_error)?;
        let mut spec = Spec::read(&self.files.directory).map_err(io_error)?;
        changes.apply(&mut spec)?;
        write_spec(&self.files, &spec).map_err(io_error)?;
        if !fs::exists(self.files.upper()).map_err(io_error)? {
            // It stopped and was removed while this wrote; what was written is no sandbox.
            let _ = fs::remove_dir_all(&self.files.directory);
            return Err(UpdateError::Gone { name });
        }
        self.spec = spec;
        Ok(())
    }
}

impl Changes {
    fn apply(self, spec: &mut Spec) -> Result<(), UpdateError> {
        if let Some(wanted_bytes) = self.upper_bytes {
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
    use crate::Home;
    use crate::sandbox::upper;

    /// A description as msb wrote it before it knew limits, signals and networks.
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
        let length = || fs::metadata(sandbox.files.upper()).expect("there").len();
        assert_eq!(length(), 0);
        upper::grow(&sandbox.files, &spec).expect("grown");
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
