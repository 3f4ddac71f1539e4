use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use durable_files::UNFINISHED;
use fs_err as fs;
use rustix::process::geteuid;

use super::Home;

/// The entries of a home: msb's own, its user's settings, and the `lost+found` of ext4.
const KNOWN: [&str; 8] = [
    "store",
    "kernels",
    "boot",
    "volumes",
    "staged",
    "sandboxes",
    "registries.toml",
    "lost+found",
];
/// The bits of a mode that `chmod` sets.
const MODE_BITS: u32 = 0o7777;

/// The home is refused: other users of the host can enter it, or it cannot be inspected.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Another user owns the home, and only that user can close it.
    #[error(
        "other users of this host can enter {} (mode {mode:03o}), and only user {owner}, who owns it, can close \
         it to them",
        .path.display()
    )]
    Owner {
        /// The path of the home.
        path: PathBuf,
        /// The permission bits of the home.
        mode: u32,
        /// The user ID of the home's owner.
        owner: u32,
    },
    /// The home was not made for msb alone, so other programs may need it open.
    #[error(
        "other users of this host can enter {} (mode {mode:03o}), and msb does not close it to \
         them, because it contains {entry}, which is not msb's",
        .path.display()
    )]
    Shared {
        /// The path of the home.
        path: PathBuf,
        /// The permission bits of the home.
        mode: u32,
        /// An entry of the home that is not msb's.
        entry: String,
    },
    /// The home cannot be inspected.
    #[error("cannot inspect {}", .path.display())]
    Look {
        /// The path of the home.
        path: PathBuf,
        /// The I/O error that caused it.
        #[source]
        source: io::Error,
    },
    /// The mode of the home cannot be set.
    #[error("cannot close {} to other users of this host", .path.display())]
    Close {
        /// The path of the home.
        path: PathBuf,
        /// The I/O error that caused it.
        #[source]
        source: io::Error,
    },
}

impl Diagnose for HomeError {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(ErrorKind::PermissionDenied).hint(match self {
            Self::Owner { path, .. } | Self::Shared { path, .. } => format!(
                "set MSB_HOME to a directory that only msb uses, or run chmod 700 {} if no other \
                 user needs that directory",
                path.display()
            ),
            Self::Look { .. } | Self::Close { .. } => {
                "set MSB_HOME to a directory that this user can write to".to_owned()
            }
        })
    }
}

impl Home {
    /// Returns the home's permission bits if other users of the host can enter it.
    /// In that case [`close`](Self::close) would keep them out. `None` if they cannot enter it, or
    /// if the home does not exist.
    ///
    /// # Errors
    /// If other users can enter it and msb may not change that, or if it cannot be inspected.
    pub fn openness(&self) -> Result<Option<u32>, HomeError> {
        let metadata = match fs::metadata(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            looked => looked.map_err(|source| self.unseen(source))?,
        };
        let mode = metadata.mode() & MODE_BITS;
        if !metadata.is_dir() || mode & durable_files::OTHERS == 0 {
            return Ok(None);
        }
        let owner = metadata.uid();
        if owner != geteuid().as_raw() {
            return Err(HomeError::Owner {
                path: self.root.clone(),
                mode,
                owner,
            });
        }
        match self.foreign_entry(owner)? {
            None => Ok(Some(mode)),
            Some(entry) => Err(HomeError::Shared {
                path: self.root.clone(),
                mode,
                entry,
            }),
        }
    }

    /// Closes the home to other users of the host, and returns its earlier permission bits.
    /// `None` if it was closed, or if it does not exist: it is private once it is made.
    ///
    /// # Errors
    /// Fails as [`openness`](Self::openness) does, and if the mode cannot be set.
    pub fn close(&self) -> Result<Option<u32>, HomeError> {
        let Some(mode) = self.openness()? else {
            return Ok(None);
        };
        let private = std::fs::Permissions::from_mode(mode & !durable_files::OTHERS);
        match fs::set_permissions(&self.root, private) {
            Ok(()) => Ok(Some(mode)),
            Err(source) => Err(HomeError::Close {
                path: self.root.clone(),
                source,
            }),
        }
    }

    /// Returns an entry that msb did not make, judged by its name and owner.
    fn foreign_entry(&self, owner: u32) -> Result<Option<String>, HomeError> {
        let unseen = |source| self.unseen(source);
        for entry in fs::read_dir(&self.root).map_err(unseen)? {
            let entry = entry.map_err(unseen)?;
            let name = entry.file_name();
            let is_unfinished = name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes());
            let is_known = is_unfinished || KNOWN.iter().any(|known| name == *known);
            let found = entry.metadata().map_err(unseen)?.uid();
            // Root may have run msb with this home, too.
            if !is_known || (found != owner && found != 0) {
                return Ok(Some(name.to_string_lossy().escape_debug().to_string()));
            }
        }
        Ok(None)
    }

    fn unseen(&self, source: io::Error) -> HomeError {
        HomeError::Look {
            path: self.root.clone(),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(mode: u32, entries: &[&str]) -> (tempfile::TempDir, Home) {
        let root = tempfile::tempdir().expect("a directory");
        for entry in entries {
            fs::create_dir(root.path().join(entry)).expect("made");
        }
        let permissions = std::fs::Permissions::from_mode(mode);
        fs::set_permissions(root.path(), permissions).expect("set");
        let home = Home::new(root.path());
        (root, home)
    }

    fn mode(home: &Home) -> u32 {
        fs::metadata(home.root()).expect("there").mode() & MODE_BITS
    }

    #[test]
    fn an_open_home_is_closed_once() {
        for open in [0o755, 0o777, 0o710, 0o701, 0o2775] {
            let (_root, home) = home(open, &["store", "sandboxes"]);
            assert_eq!(home.openness().expect("looked"), Some(open));
            assert_eq!(home.close().expect("closed"), Some(open));
            assert_eq!(mode(&home), open & 0o7700);
            assert_eq!(home.close().expect("closed already"), None);
        }
    }

    #[test]
    fn a_home_that_is_not_there_is_made_private_by_who_makes_it() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path().join("a/b"));
        assert_eq!(home.close().expect("nothing to do"), None);
        assert!(!home.root().exists());
        durable_files::ensure_directory(&home.sandboxes()).expect("made");
        assert_eq!(mode(&home), 0o700);
    }

    #[test]
    fn a_directory_that_is_not_msbs_alone_keeps_its_mode() {
        let (root, home) = home(0o1777, &["store", "somebody's"]);
        let error = home.close().expect_err("refused");
        let text = error.to_string();
        assert!(text.contains("somebody") && text.contains("1777"), "{text}");
        let advice = error.diagnosis().advice().expect("a remedy");
        assert!(advice.contains("chmod 700"), "{advice}");
        assert_eq!(mode(&home), 0o1777);
        // The user has closed it already.
        fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o700)).expect("set");
        assert_eq!(home.close().expect("closed already"), None);
    }

    #[test]
    fn another_users_home_is_not_touched() {
        // A directory of root's that every user may enter; for root, a directory of another user.
        let (root, home) = home(0o755, &[]);
        let other = if geteuid().is_root() {
            std::os::unix::fs::chown(root.path(), Some(65534), None).expect("given away");
            home
        } else {
            Home::new("/")
        };
        let error = other.close().expect_err("refused");
        assert!(matches!(error, HomeError::Owner { .. }), "{error}");
    }
}
