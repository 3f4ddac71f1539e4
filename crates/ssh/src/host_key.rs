use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use durable_files::flock;
use russh::keys::ssh_key::private::Ed25519Keypair;
use russh::keys::ssh_key::{self, LineEnding};
use russh::keys::{PrivateKey, PublicKey};
use thiserror::Error;

/// The directory of SSH in a home.
pub(crate) const DIRECTORY: &str = "ssh";
/// The file of the key.
const FILE: &str = "host_key";
/// The file that is locked while the key is made.
const LOCK: &str = "host_key.lock";

/// The key by which clients know the server of all sandboxes of a home, an Ed25519 key.
#[derive(Debug, Clone)]
pub struct HostKey(PrivateKey);

/// The reason for which there is no key.
#[derive(Debug, Error)]
pub enum HostKeyError {
    /// The key cannot be read or written.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file does not have a key.
    #[error("{} is not a private key of OpenSSH", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: ssh_key::Error,
    },
}

impl HostKey {
    /// Reads the key of a home, and makes it the first time.
    ///
    /// # Errors
    /// If the file cannot be read or written, or has something else.
    pub fn open(home: &Path) -> Result<Self, HostKeyError> {
        let directory = home.join(DIRECTORY);
        let path = directory.join(FILE);
        let read = || match fs::read(&path) {
            Ok(bytes) => Self::parse(&path, &bytes).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(failed(&path)(source)),
        };
        if let Some(key) = read()? {
            return Ok(key);
        }
        durable_files::ensure_directory(&directory).map_err(failed(&directory))?;
        let lock_path = directory.join(LOCK);
        let lock = durable_files::open_or_create(&lock_path).map_err(failed(&lock_path))?;
        // Two clients that are the first ones at once get the same key.
        flock::wait(&lock, flock::Kind::Exclusive).map_err(failed(&lock_path))?;
        if let Some(key) = read()? {
            return Ok(key);
        }
        let key = Self::generate().map_err(failed(&path))?;
        let text = key.0.to_openssh(LineEnding::LF);
        let text = text.map_err(|source| HostKeyError::Damaged {
            path: path.clone(),
            source,
        })?;
        durable_files::publish_bytes(&path, text.as_bytes()).map_err(failed(&path))?;
        Ok(key)
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, HostKeyError> {
        let key = PrivateKey::from_openssh(bytes);
        key.map(Self).map_err(|source| HostKeyError::Damaged {
            path: path.to_owned(),
            source,
        })
    }

    fn generate() -> io::Result<Self> {
        let seed = durable_files::random()?;
        Ok(Self(PrivateKey::from(Ed25519Keypair::from_seed(&seed))))
    }

    pub(crate) fn private(&self) -> PrivateKey {
        self.0.clone()
    }

    pub(crate) fn public(&self) -> &PublicKey {
        self.0.public_key()
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> HostKeyError + use<> {
    let path = path.to_owned();
    |source| HostKeyError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_home_has_one_key_that_its_owner_alone_can_read() {
        let home = tempfile::tempdir().expect("a directory");
        let first = HostKey::open(home.path()).expect("made");
        let second = HostKey::open(home.path()).expect("read");
        assert_eq!(first.public(), second.public());
        let file = home.path().join("ssh/host_key");
        let mode = fs::metadata(&file).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let other = tempfile::tempdir().expect("a directory");
        let other = HostKey::open(other.path()).expect("made");
        assert_ne!(first.public(), other.public());
        fs::write(&file, "no key").expect("written");
        let refused = HostKey::open(home.path()).expect_err("damaged");
        assert!(
            refused
                .to_string()
                .ends_with("is not a private key of OpenSSH")
        );
    }

    #[test]
    fn clients_that_are_the_first_at_once_get_one_key() {
        let home = tempfile::tempdir().expect("a directory");
        let keys: Vec<_> = std::thread::scope(|scope| {
            let open = || HostKey::open(home.path()).expect("a key");
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("joined"))
                .collect()
        });
        assert!(
            keys.windows(2)
                .all(|pair| pair[0].public() == pair[1].public())
        );
    }
}
