//! The images that sandboxes need.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::listing::directories;
use super::record::{self, Reading};
use super::{SandboxPaths, UnreadableSandbox};
use crate::Home;

/// An index of the images that sandboxes, running or not, need. It reads each sandbox once: the image of
/// a sandbox never changes, and a sandbox that appears later is read when it is asked for next.
#[derive(Debug)]
pub struct ImageUsers {
    home: Home,
    seen: Mutex<HashMap<PathBuf, User>>,
}

/// A sandbox, or what is known of it.
#[derive(Debug)]
enum User {
    /// Digest of the image's manifest.
    Of(String),
    /// The image is unknown, so it may be any.
    Unknown(UnreadableSandbox),
}

impl ImageUsers {
    /// Returns the index of a home, which reads nothing yet.
    pub fn new(home: &Home) -> Self {
        Self {
            home: home.clone(),
            seen: Mutex::default(),
        }
    }

    /// Returns true if a sandbox needs the image with this manifest digest, or may need it because
    /// its description cannot be read.
    ///
    /// # Errors
    /// If the directory of sandboxes cannot be read.
    pub fn need(&self, image_digest: &str) -> io::Result<bool> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        self.read_new(&mut seen)?;
        Ok(seen.values().any(|user| match user {
            User::Of(digest) => digest == image_digest,
            User::Unknown(_) => true,
        }))
    }

    /// Returns the sandboxes whose images are unknown, in the order of their ids.
    ///
    /// # Errors
    /// If the directory of sandboxes cannot be read.
    pub fn unknown(&self) -> io::Result<Vec<UnreadableSandbox>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        self.read_new(&mut seen)?;
        let unknown = seen.values().filter_map(|user| match user {
            User::Of(_) => None,
            User::Unknown(sandbox) => Some(sandbox.clone()),
        });
        let mut unknown: Vec<_> = unknown.collect();
        unknown.sort_by(|a, b| a.id().cmp(b.id()));
        Ok(unknown)
    }

    /// Reads the sandboxes that are not in the index.
    fn read_new(&self, seen: &mut HashMap<PathBuf, User>) -> io::Result<()> {
        for directory in directories(&self.home)? {
            if seen.contains_key(&directory) {
                continue;
            }
            let files = SandboxPaths { directory };
            let user = match record::read(&files) {
                // It may be about to appear.
                Reading::Missing => continue,
                Reading::Read(record) => User::Of(record.spec.image_digest),
                Reading::Unusable(error, remains) => match remains.image_digest.clone() {
                    Some(digest) => User::Of(digest),
                    None => User::Unknown(UnreadableSandbox::new(files.clone(), error, remains)),
                },
            };
            seen.insert(files.directory, user);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::{Sandbox, Spec};

    #[test]
    fn each_sandbox_is_read_once_and_one_that_appears_later_is_found() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let sandbox = |name: &str, image: &str| {
            let mut spec = Spec::for_tests(name);
            spec.image_digest = image.to_owned();
            Sandbox::for_tests(&home, spec)
        };
        let first = sandbox("first", "sha256:1");
        let users = ImageUsers::new(&home);
        assert!(users.need("sha256:1").expect("read"));
        assert!(!users.need("sha256:2").expect("read"));
        // It is not read again.
        fs_err::write(first.files.spec(), "damaged").expect("written");
        fs_err::write(first.files.spec_copy(), "damaged").expect("written");
        assert!(!users.need("sha256:2").expect("read"));
        sandbox("second", "sha256:2");
        assert!(users.need("sha256:2").expect("read"));
        assert!(users.unknown().expect("read").is_empty());
    }
}
